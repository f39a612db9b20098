import { describe, expect, test } from 'vitest';
import { Dry } from '../../../../sampling/dry.ts';
import { Repetition } from '../../../../sampling/repetition.ts';
import { OutputText, TextHistory } from './output-text.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Token n is the n-th of these; bytes, because a token may be part of a character. */
const pieces = [
  'Hello',
  ' wor',
  'ld',
  '!',
  'ST',
  'OP',
  Buffer.from([0xf0, 0x9f]),
  Buffer.from([0x99, 0x82]),
  ' bad',
  ' word',
  's',
];
const vocabulary = { bytes: (token: number) => Buffer.from(pieces[token] ?? '') } as unknown as Vocabulary;

function output(
  changes: Partial<ConstructorParameters<typeof OutputText>[1]> = {},
  bans = { phrases: [] as readonly string[], delay: 0 },
): OutputText {
  return new OutputText(vocabulary, { renderSpecial: false, stop: [], trimStop: true, ...changes }, bans);
}

const banning = (...phrases: string[]) => ({ phrases, delay: 3 });
const texts = (from: OutputText, tokens: number[]) => tokens.map((token) => from.accept(token));

test('OutputText: text token by token', () => {
  expect(texts(output(), [0, 1, 2])).toMatchObject([{ text: 'Hello' }, { text: ' wor' }, { text: 'ld' }]);
});

test('OutputText: a character of several tokens comes when it is complete', () => {
  expect(texts(output(), [0, 6, 7, 3])).toMatchObject([{ text: 'Hello' }, { text: '' }, { text: '🙂' }, { text: '!' }]);
});

test('OutputText: drops an incomplete character at the end', () => {
  const half = output();
  texts(half, [0, 6]);
  expect(half.flush()).toEqual({ text: '' });
});

describe('OutputText: stop text', () => {
  test('holds back a possible stop text, and removes a complete one', () => {
    expect(texts(output({ stop: ['STOP'] }), [0, 4, 5])).toMatchObject([
      { text: 'Hello' },
      { text: '' },
      { text: '', stop: 'STOP' },
    ]);
  });

  test('sends a held-back text that did not become a stop text', () => {
    const held = output({ stop: ['STOP'] });
    expect(texts(held, [4, 3])).toMatchObject([{ text: '' }, { text: 'ST!' }]);
    texts(held, [4]);
    expect(held.flush()).toEqual({ text: 'ST' });
  });
});

describe('OutputText: banned phrase', () => {
  test('rewinds to its start, and bans its first token there', () => {
    const banned = output({}, banning('bad word'));
    expect(texts(banned, [0, 8])).toMatchObject([{ text: '' }, { text: '' }]);
    expect(banned.accept(9)).toEqual({ type: 'rewind', position: 1, token: 8 });
    banned.rewound(Int32Array.of(0));
    expect(banned.forbidden).toEqual([8]);
    texts(banned, [1]);
    expect(banned.flush()).toEqual({ text: 'Hello wor' });
  });

  test('keeps the decoder state of the remaining characters', () => {
    const banned = output({}, banning('bad word'));
    texts(banned, [6, 7, 8]);
    expect(banned.accept(9).type).toBe('rewind');
    banned.rewound(Int32Array.of(6, 7));
    texts(banned, [3]);
    expect(banned.flush()).toEqual({ text: '🙂!' });
  });

  test('finds a banned phrase and a stop text in the rest at the end', () => {
    const both = output({ stop: ['STOP'] }, banning('bad word'));
    texts(both, [0, 4, 5]);
    expect(both.flush()).toEqual({ text: 'Hello', stop: 'STOP' });
  });
});

test('TextHistory: uses the text without a copy', () => {
  const tokens = Int32Array.of(1, 2, 3, 0);
  expect(new TextHistory({ tokens }, 2).upTo(3)).toEqual({ tokens, length: 3 });
  expect(new TextHistory({ tokens }, 2).upTo(3).tokens).toBe(tokens);
});

test('TextHistory: omits pictures, and follows a rewind', () => {
  const tokens = Int32Array.of(1, -5, -6, 2, 3, 4, 0);
  const history = new TextHistory({ tokens }, 4);
  const text = (length: number) => {
    const { tokens: list, length: count } = history.upTo(length);
    return [...list.subarray(0, count)];
  };
  expect(text(4)).toEqual([1, 2]);
  expect(text(6)).toEqual([1, 2, 3, 4]);
  tokens[4] = 9;
  expect(text(5)).toEqual([1, 2, 9]);
});

test('Repetition, Dry: skip ids that are not tokens', () => {
  const history = Int32Array.of(1, -5, -6, 1, -5, -6);
  const logits = new Float32Array([1, 1, 1]);
  const penalties = { repetitionPenalty: 2, presencePenalty: 1, frequencyPenalty: 1 };
  new Repetition({ ...penalties, repetitionSlope: 1, repetitionRange: 10 }, 10, 3).penaliseLogits(logits, history, 6);
  expect([...logits]).toEqual([1, -2.5, 1]);
  const dry = new Dry({ dryMultiplier: 1, dryBase: 2, dryAllowedLength: 1, dryRange: 0 }, 10, 3);
  dry.penalise(logits, history, 6);
  expect([logits[0], logits[2]]).toEqual([1, 1]);
});
