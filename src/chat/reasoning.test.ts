import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openedThinking, ReasoningSplitter, thinkingTags } from './reasoning.ts';
import { cutIntoPieces, halvesOf, textOf } from './testing/fixtures/pieces.ts';

function split(pieces: readonly string[], options: Partial<ConstructorParameters<typeof ReasoningSplitter>[0]> = {}) {
  const splitter = new ReasoningSplitter({ prompt: '', encapsulate: true, ...options });
  const parts = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.finish()];
  const join = (type: string) =>
    parts
      .filter((part) => part.type === type)
      .map((part) => part.text)
      .join('');
  return { reasoning: join('reasoning-delta'), text: join('text-delta') };
}

describe('ReasoningSplitter: every pair of tags', () => {
  test.each(thinkingTags.map(({ start, ends }) => [start, ends[0]?.text ?? '']))('%s … %s', (start, end) => {
    expect(split([`${start}\nhm\n${end}\n\nYes.`])).toEqual({ reasoning: 'hm', text: 'Yes.' });
  });
});

test('ReasoningSplitter: text without tags passes at once', () => {
  const splitter = new ReasoningSplitter({ prompt: '', encapsulate: true });
  expect(splitter.push('Hello')).toEqual([{ type: 'text-delta', text: 'Hello' }]);
});

test('ReasoningSplitter: holds back an incomplete tag', () => {
  const splitter = new ReasoningSplitter({ prompt: '', encapsulate: true });
  expect(splitter.push('<thi')).toEqual([]);
  expect(splitter.push('s>')).toEqual([{ type: 'text-delta', text: '<this>' }]);
});

test('ReasoningSplitter: begins inside thinking that the prompt has opened', () => {
  expect(split(['hm</think>Yes.'], { prompt: '<|im_start|>assistant\n<think>\n' })).toEqual({
    reasoning: 'hm',
    text: 'Yes.',
  });
});

test('openedThinking: undefined for closed thinking', () => {
  expect(openedThinking('<think>\n\n</think>\n\n')).toBeUndefined();
});

test('ReasoningSplitter: only the first block is thinking', () => {
  expect(split(['<think>a</think>b<think>c</think>'])).toEqual({ reasoning: 'a', text: 'b<think>c</think>' });
});

test('ReasoningSplitter: keeps text before the block, drops white space before it', () => {
  expect(split(['So <think>a</think>b'])).toEqual({ reasoning: 'a', text: 'So b' });
  expect(split(['\n', ' <think>a</think>b'])).toEqual({ reasoning: 'a', text: 'b' });
  expect(split(['  indented'])).toEqual({ reasoning: '', text: '  indented' });
});

test('ReasoningSplitter: thinking without an end stays thinking', () => {
  expect(split(['<think>a', 'b '])).toEqual({ reasoning: 'ab ', text: '' });
});

test('ReasoningSplitter: a lone end tag is text', () => {
  expect(split(['hm</think>Yes.'])).toEqual({ reasoning: '', text: 'hm</think>Yes.' });
});

test('ReasoningSplitter: passes everything unchanged without encapsulate', () => {
  const reply = '\n<think>\na</think>\n b';
  expect(split([reply], { encapsulate: false, prompt: '<think>' })).toEqual({ reasoning: '', text: reply });
});

test('ReasoningSplitter: removes Harmony channel headers', () => {
  expect(split(['<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.'])).toEqual({
    reasoning: 'hm',
    text: 'Yes.',
  });
  expect(split(['<|channel|>final<|message|>Yes.'])).toEqual({ reasoning: '', text: 'Yes.' });
});

test('ReasoningSplitter: keeps the header of a Harmony tool call after the thinking', () => {
  expect(
    split(['<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.x']),
  ).toEqual({ reasoning: 'hm', text: '<|channel|>commentary to=functions.x' });
});

test('ReasoningSplitter: the result does not depend on the pieces', () => {
  const tags = thinkingTags.flatMap(({ start, ends }) => [start, ...ends.map(({ text }) => text)]);
  const words = [...halvesOf(...tags), 'a', 'b', ' ', '\n', '<'];
  const options = fc.record({
    prompt: fc.constantFrom('', '<think>\n', 'x[THINK]'),
    encapsulate: fc.boolean(),
  });
  fc.assert(
    fc.property(cutIntoPieces(textOf(...words)), options, (pieces, chosen) => {
      const whole = split([pieces.join('')], chosen);
      expect(split(pieces, chosen)).toEqual(whole);
      expect(split([...pieces.join('')], chosen)).toEqual(whole);
    }),
    { numRuns: 1500 },
  );
});
