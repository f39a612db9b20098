import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parted } from './thinking.ts';

describe('a raw text', () => {
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
  ])('%j has the thoughts %j and the words %j', (raw, reasoning, text) => {
    expect(parted(raw)).toEqual({ reasoning, text });
  });

  test('never shows half a mark while it is written', () => {
    const whole = '<think>Hm.</think>Hello <b>you</b>';
    for (let end = 1; end < whole.length; end += 1) {
      const { reasoning, text } = parted(whole.slice(0, end));
      expect(`${reasoning}|${text}`).not.toMatch(/<\/?th?i?n?k?$|<\/?think>?/);
    }
  });

  test('keeps the marks that stand among its words', () => {
    const raw = 'Write <think> to begin and </think> to end.';
    expect(parted(raw)).toEqual({ reasoning: '', text: raw });
  });

  test('without marks is said as it is', () => {
    const words = fc.string().filter((raw) => !/[<[]/.test(raw));
    fc.assert(
      fc.property(words, (raw) => {
        expect(parted(raw)).toEqual({ reasoning: '', text: raw });
      }),
    );
  });

  test('gives back thoughts and words as they were put together', () => {
    const plain = fc.stringMatching(/^[a-z .]{0,20}$/).map((one) => one.trim());
    const marks = fc.constantFrom(['<think>', '</think>'], ['[THINK]', '[/THINK]'], ['<seed:think>', '</seed:think>']);
    fc.assert(
      fc.property(plain, plain, marks, (reasoning, text, [start, end]) => {
        expect(parted(`${start}\n${reasoning}\n${end}\n\n${text}`)).toEqual({ reasoning, text });
      }),
    );
  });
});
