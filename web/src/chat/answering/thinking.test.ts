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
});
