import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { timedSentences } from './timing.ts';

const said = (text: string, ...spans: readonly (readonly [number, number])[]) =>
  timedSentences(
    text,
    spans.map(([start, end]) => ({ start, end })),
  );
const texts = (text: string) => said(text, [0, 10]).map((segment) => segment.text);

describe('timedSentences: sentences', () => {
  test('end at sentence marks', () => {
    expect(texts('Who is it? It is me! Come in. All right…')).toEqual([
      ' Who is it?',
      ' It is me!',
      ' Come in.',
      ' All right…',
    ]);
  });

  test('include closing quotation marks', () => {
    expect(texts('He said "go away." (Really.) So I went')).toEqual([
      ' He said "go away."',
      ' (Really.)',
      ' So I went',
    ]);
  });

  test('do not end at titles, initials and numbers', () => {
    expect(texts('Mr. Smith and Dr. J. Doe paid 3.5 dollars.')).toEqual([
      ' Mr. Smith and Dr. J. Doe paid 3.5 dollars.',
    ]);
  });

  test('are none without text', () => {
    expect(texts('  \n ')).toEqual([]);
  });
});

describe('timedSentences: times', () => {
  test('cover all speech', () => {
    const [only] = said('one two', [3, 5]);
    expect(only).toMatchObject({ start: 3, end: 5 });
    expect(only?.words).toMatchObject([
      { word: 'one', start: 3, end: 4 },
      { word: 'two', start: 4, end: 5 },
    ]);
  });

  test('follow the length of the words', () => {
    const [only] = said('a considerable word', [0, 10]);
    const lengths = only?.words?.map(({ start, end }) => end - start) ?? [];
    expect(lengths[1]).toBeGreaterThan((lengths[0] ?? 0) * 3);
  });

  test('skip pauses', () => {
    const [only] = said('one two', [0, 1], [5, 6]);
    expect(only?.words).toMatchObject([
      { start: 0, end: 1 },
      { start: 5, end: 6 },
    ]);
  });

  test('end a sentence at a pause nearby', () => {
    const segments = said('Short one here. And this is a longer second sentence.', [1, 3], [4, 9]);
    expect(segments[0]).toMatchObject({ start: 1, end: 3 });
    expect(segments[1]).toMatchObject({ start: 4, end: 9 });
  });

  test('ignore a distant pause', () => {
    const segments = said('One half of it. The other half.', [0, 10], [12, 13]);
    expect(segments[0]?.end).toBeGreaterThan(3);
    expect(segments[0]?.end).toBeLessThan(8);
  });

  test('are 0 without speech', () => {
    expect(said('Strange.')).toMatchObject([{ start: 0, end: 0 }]);
  });
});

test('timedSentences: keeps all words, with increasing times within speech, for any text', () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{1,12}[.!?]?$/), { minLength: 1, maxLength: 40 });
  const steps = fc.array(
    fc.tuple(fc.double({ min: 0, max: 3, noNaN: true }), fc.double({ min: 0.1, max: 12, noNaN: true })),
    {
      minLength: 1,
      maxLength: 8,
    },
  );
  fc.assert(
    fc.property(words, steps, (list, lengths) => {
      let place = 0;
      const spans = lengths.map(([pause, length]) => {
        const start = place + pause;
        place = start + length;
        return { start, end: place };
      });
      const segments = timedSentences(list.join(' '), spans);
      expect(segments.map(({ text }) => text).join('')).toBe(` ${list.join(' ')}`);
      const times = segments.flatMap(({ words: each = [] }) => each);
      expect(times.map(({ word }) => word)).toEqual(list);
      let before = spans[0]?.start ?? 0;
      for (const { start, end } of times) {
        expect(start).toBeGreaterThanOrEqual(before - 1e-6);
        expect(end).toBeGreaterThanOrEqual(start);
        expect(end).toBeLessThanOrEqual(place + 1e-6);
        before = start;
      }
      for (const { start, end, words: each = [] } of segments) {
        expect(start).toBe(each[0]?.start);
        expect(end).toBe(each.at(-1)?.end);
      }
    }),
  );
});
