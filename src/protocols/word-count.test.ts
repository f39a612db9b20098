import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { wordCount } from './word-count.ts';

describe('how long a text is to whoever must say it', () => {
  test.each([
    ['', 0],
    ['   \n ', 0],
    ['Hello', 1],
    ['Hello, my friend!', 3],
    ["don't  stop", 2],
    ['你好世界', 4],
    ['こんにちは', 5],
    ['hello 世界', 3],
    ['สวัสดี', 6],
    ['Привет, мир', 2],
    ['a'.repeat(20), 1],
    ['a'.repeat(21), 2],
    ['a'.repeat(100_000), 5000],
  ])('%.20j is %i words', (text, count) => {
    expect(wordCount(text)).toBe(count);
  });

  test('it grows with the text, and never faster than its characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (one, two) => {
        expect(wordCount(`${one} ${two}`)).toBe(wordCount(one) + wordCount(two));
        expect(wordCount(one)).toBeLessThanOrEqual(one.length);
        expect(wordCount(one)).toBeGreaterThanOrEqual(Math.floor(one.replace(/\s/g, '').length / 40));
      }),
    );
  });
});
