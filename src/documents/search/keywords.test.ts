import fc from 'fast-check';
import { expect, test } from 'vitest';
import { highestScore, indexedText, quoted, searchedTerms, termsOf } from './keywords.ts';

test('termsOf: the different words, without marks, and identifiers as a whole', () => {
  expect(termsOf('What does "max_tokens" do? What, if NOT set: --ctx-size?')).toEqual([
    ...['what', 'does', 'max_tokens', 'do', 'if', 'not', 'set', 'ctx-size'],
  ]);
});

test('termsOf: text without spaces as pairs of characters', () => {
  expect(termsOf('東京都 x')).toEqual(['東京', '京都', 'x']);
  expect(quoted('東京')).toBe('" 東  京 "');
  expect(indexedText('ab東c')).toBe('ab 東 c');
});

test('termsOf: any text makes few terms, and quoted ones have no quotation mark inside that ends them', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 500 }), (query) => {
      const terms = termsOf(query);
      expect(terms.length).toBeLessThanOrEqual(32);
      for (const term of terms) expect(quoted(term).slice(1, -1).replaceAll('""', '')).not.toContain('"');
    }),
  );
});

test('searchedTerms: leaves out words of more than a tenth of the passages, unless there are no others', () => {
  const [the, of, cat, dragon] = [
    { term: 'the', count: 90_000 },
    { term: 'of', count: 80_000 },
    { term: 'cat', count: 500 },
    { term: 'dragon', count: 0 },
  ] as const;
  expect(searchedTerms([the, of, cat, dragon], 100_000)).toEqual([cat]);
  expect(searchedTerms([the, of], 100_000)).toEqual([of]);
  // In a small collection each word is in more than a tenth of the passages.
  expect(
    searchedTerms(
      [
        { term: 'the', count: 30 },
        { term: 'cat', count: 12 },
      ],
      40,
    ),
  ).toHaveLength(2);
});

test('searchedTerms: the rarest words as far as their matches can be ranked, and always one', () => {
  const words = [4000, 1500, 700].map((count) => ({ term: String(count), count }));
  expect(searchedTerms(words, 50_000).map(({ count }) => count)).toEqual([700, 1500]);
  expect(searchedTerms(words, 200_000).map(({ count }) => count)).toEqual([700, 1500, 4000]);
  expect(searchedTerms([{ term: 'a', count: 90_000 }], 100_000)).toHaveLength(1);
});

test('highestScore: grows with each word, and more with a rare one', () => {
  const score = (...counts: number[]) =>
    highestScore(
      counts.map((count) => ({ term: 'a', count })),
      1000,
    );
  expect(score(1)).toBeGreaterThan(score(100));
  expect(score(1, 100)).toBeCloseTo(score(1) + score(100));
  expect(score(999)).toBeGreaterThan(0);
});
