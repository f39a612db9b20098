import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { GenerationEvent, TokenLogprob } from '../core/events.ts';
import { alignedLogprobs, tokenPieces } from './logprob-alignment.ts';
import { finishEvent, startEvent } from './testing/doubles.ts';

const token = (text: string): TokenLogprob => ({
  token: 1,
  text,
  bytes: [...Buffer.from(text)],
  logprob: -1,
  top: [],
});

const said = (text: string, ...tokens: string[]): GenerationEvent => ({
  type: 'text-delta',
  text,
  ...(tokens.length > 0 ? { logprobs: tokens.map(token) } : {}),
});

function cut(events: readonly GenerationEvent[]): GenerationEvent[] {
  const pieces = tokenPieces();
  return events.flatMap((event) => [...pieces(event)]);
}

/** Each piece of text with the texts of its tokens. */
const piecesOf = (events: readonly GenerationEvent[]) =>
  cut(events).flatMap((event) =>
    event.type === 'text-delta' ? [[event.text, event.logprobs?.map(({ text }) => text)]] : [],
  );

test('tokenPieces: without logprobs all events pass unchanged', () => {
  const events = [startEvent(), said('Hi'), said(''), said(' you'), finishEvent()];
  expect(cut(events)).toEqual([startEvent(), said('Hi'), said(' you'), finishEvent()]);
});

test.each<[string, GenerationEvent[], unknown[]]>([
  [
    'a token whose end might have become a stop text waits for it',
    [said(' t', ' the'), said('he end', ' end'), finishEvent()],
    [[' the end', [' the', ' end']]],
  ],
  [
    'what is before such a token does not wait',
    [said('All t', 'All', ' the'), said('he', ' x'), said(' x')],
    [
      ['All', ['All']],
      [' the', [' the']],
      [' x', [' x']],
    ],
  ],
  [
    'a token that a stop text has cut is shown at the end, with its figures',
    [said(' t', ' the'), finishEvent()],
    [[' t', [' the']]],
  ],
  [
    'a token in three pieces',
    [said('a', 'abc'), said('b'), said('c', 'd'), said('d')],
    [
      ['abc', ['abc']],
      ['d', ['d']],
    ],
  ],
  [
    'the space before an answer is gone, and its token is still that of the answer',
    [said('', ' '), said('Hi', ' Hi')],
    [['Hi', [' Hi']]],
  ],
  [
    'text that was held back at the beginning has the figures of all its tokens',
    [said('', ' <'), said('<b', 'b'), finishEvent()],
    [['<b', [' <', 'b']]],
  ],
  ['an end token is in no piece', [said('Hi', 'Hi', '</s>'), said('', '</s>'), finishEvent()], [['Hi', ['Hi']]]],
])('tokenPieces: %s', (_, events, expected) => {
  expect(piecesOf(events)).toEqual(expected.map((pair) => pair));
});

test('tokenPieces: releases held text before the next event', () => {
  const call: GenerationEvent = { type: 'tool-start', index: 0, id: 'call_1', name: 'look' };
  expect(cut([said(' t', ' the'), call]).map(({ type }) => type)).toEqual(['text-delta', 'tool-start']);
});

test('tokenPieces: does not cut a character of several tokens', () => {
  const bytes = [...Buffer.from('\u{1F600}')];
  const halves = [bytes.slice(0, 2), bytes.slice(2)].map((half) => ({ ...token(''), bytes: half }));
  const event: GenerationEvent = { type: 'text-delta', text: '\u{1F600}', logprobs: halves };
  expect(cut([event])).toEqual([event]);
});

/** Tokens that come in pieces which were cut anywhere, as text is that might have become a stop text. */
const replies = fc
  .array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 })
  .chain((words) =>
    fc.tuple(fc.constant(words), fc.array(fc.nat(5), { minLength: words.length, maxLength: words.length })),
  )
  .map(([words, holds]) => {
    const events: GenerationEvent[] = [];
    let held = '';
    for (const [index, word] of words.entries()) {
      const characters = [...(held + word)];
      const shown = characters.slice(0, Math.max(0, characters.length - (holds[index] ?? 0))).join('');
      held = (held + word).slice(shown.length);
      events.push(said(shown, word));
    }
    return { words, events: [...events, said(held, '</s>'), finishEvent()] };
  });

test('tokenPieces: each piece has exactly the logprobs of its tokens, however the text is cut', () => {
  fc.assert(
    fc.property(replies, ({ words, events }) => {
      const pieces = piecesOf(events) as [string, string[] | undefined][];
      for (const [text, tokens] of pieces) expect([text, tokens?.join('')]).toEqual([text, text]);
      expect(pieces.flatMap(([, tokens]) => tokens)).toEqual(words);
      expect(pieces.map(([text]) => text).join('')).toBe(words.join(''));
    }),
  );
});

test('tokenPieces: pieces of a stream add up to the whole reply', () => {
  fc.assert(
    fc.property(replies, ({ events }) => {
      const spoken = alignedLogprobs();
      const whole = events.flatMap((event) => (event.type === 'text-delta' ? (spoken(event) ?? []) : []));
      const streamed = cut(events).flatMap((event) => (event.type === 'text-delta' ? (event.logprobs ?? []) : []));
      expect(streamed).toEqual(whole);
    }),
  );
});
