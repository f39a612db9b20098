import { array, assert, constantFrom, property, tuple } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { spokenWords, wholeSegments } from './driver.ts';

const segments = (...parts: readonly (readonly [string, number, number])[]) => ({
  segments: parts.map(([text, t0, t1]) => ({ text, t0, t1 })),
});

describe('wholeSegments', () => {
  test('times are in seconds', () => {
    expect(wholeSegments(segments([' Hello there.', 0, 1500]))).toEqual([
      { text: ' Hello there.', start: 0, end: 1.5 },
    ]);
  });

  test('drops blank segments and negative durations', () => {
    expect(wholeSegments(segments(['  ', 0, 100], [' Yes.', 900, 800]))).toEqual([
      { text: ' Yes.', start: 0.9, end: 0.9 },
    ]);
  });
});

describe('spokenWords', () => {
  test('joins tokens to words', () => {
    const [sentence] = spokenWords(segments(['', 0, 0], [' lov', 100, 200], ['ely', 200, 400], [' day', 500, 600]));
    expect(sentence?.words).toEqual([
      { word: 'lovely', start: 0.1, end: 0.4 },
      { word: 'day', start: 0.5, end: 0.6 },
    ]);
    expect(sentence).toMatchObject({ text: ' lovely day', start: 0.1, end: 0.6 });
  });

  test('ends sentences at sentence marks, also in quotes', () => {
    const found = spokenWords(segments([' Go', 0, 1], ['."', 1, 2], [' No', 3, 4], ['!', 4, 5], [' And', 6, 7]));
    expect(found.map(({ text }) => text)).toEqual([' Go."', ' No!', ' And']);
  });

  test('is empty without segments', () => {
    expect(spokenWords(segments(['', 0, 0], [' ', 0, 100]))).toEqual([]);
  });

  test('keeps every letter in order', () => {
    const token = tuple(constantFrom(' a', 'b', ' c.', '!', ' d', ',', ' "e'), constantFrom(0, 10, 20));
    assert(
      property(array(token), (tokens) => {
        const parts = tokens.map(([text, length], index) => [text, index * 20, index * 20 + length] as const);
        const found = spokenWords(segments(...parts));
        expect(found.map(({ text }) => text).join('')).toBe(tokens.map(([text]) => text).join(''));
        for (const { start, end, words = [] } of found) {
          expect(words[0]?.start).toBe(start);
          expect(words.at(-1)?.end).toBe(end);
          for (const word of words) expect(word.end).toBeGreaterThanOrEqual(word.start);
        }
      }),
    );
  });
});
