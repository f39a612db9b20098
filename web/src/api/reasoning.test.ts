import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { reasoningEnd, splitReasoning, withoutReasoning } from './reasoning.ts';

describe('splitReasoning', () => {
  test.each([
    ['Hello', '', 'Hello'],
    ['<think>Hm.</think>Hello', 'Hm.', 'Hello'],
    ['\n<think>\nHm.\n</think>\n\nHello', 'Hm.', 'Hello'],
    ['<think></think>Hello', '', 'Hello'],
    ['<think>Hm, so', 'Hm, so', ''],
    ['Hm.</think>Hello', 'Hm.', 'Hello'],
    ['[THINK]Hm.[/THINK]Hello', 'Hm.', 'Hello'],
    ['<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello', 'Hm.', 'Hello'],
    ['<|channel>thought\nHm.<channel|>Hello', 'Hm.', 'Hello'],
    ['', '', ''],
  ])('%j has the reasoning %j and the text %j', (raw, reasoning, text) => {
    expect(splitReasoning(raw)).toEqual({ reasoning, text });
  });

  test('never shows part of a tag while the text grows', () => {
    const whole = '<think>Hm.</think>Hello <b>you</b>';
    for (let end = 1; end < whole.length; end += 1) {
      const { reasoning, text } = splitReasoning(whole.slice(0, end));
      expect(`${reasoning}|${text}`).not.toMatch(/<\/?th?i?n?k?$|<\/?think>?/);
    }
  });

  test('keeps tags in the middle of the text', () => {
    const raw = 'Write <think> to begin and </think> to end.';
    expect(splitReasoning(raw)).toEqual({ reasoning: '', text: raw });
  });

  test('returns text without tags unchanged', () => {
    const words = fc.string().filter((raw) => !/[<[]/.test(raw));
    fc.assert(
      fc.property(words, (raw) => {
        expect(splitReasoning(raw)).toEqual({ reasoning: '', text: raw });
      }),
    );
  });

  test('splits what was joinedReply with any tags', () => {
    const plain = fc.stringMatching(/^[a-z .]{0,20}$/).map((one) => one.trim());
    const marks = fc.constantFrom(['<think>', '</think>'], ['[THINK]', '[/THINK]'], ['<seed:think>', '</seed:think>']);
    fc.assert(
      fc.property(plain, plain, marks, (reasoning, text, [start, end]) => {
        expect(splitReasoning(`${start}\n${reasoning}\n${end}\n\n${text}`)).toEqual({ reasoning, text });
      }),
    );
  });
});

test.each([
  ['<think>Hm.</think>\n\nYes.', 18, 'Yes.'],
  ['\n[THINK]Hm.[/THINK] Yes.', 19, 'Yes.'],
  ['<think>still', 12, '<think>still'],
  ['Yes. <think>no</think>', 0, 'Yes. <think>no</think>'],
  ['', 0, ''],
])('reasoningEnd: %j has reasoning up to %i', (text, end, reply) => {
  expect(reasoningEnd(text)).toBe(end);
  expect(withoutReasoning(text)).toBe(reply);
});
