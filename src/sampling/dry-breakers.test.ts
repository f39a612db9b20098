import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dryBreakers, tokensAfterBreaker } from './dry-breakers.ts';
import { vocabularyOf } from './testing/candidates.ts';

const vocabulary = vocabularyOf(['x', 'a\n', '\n', 'Us', 'User', 'er', ':', 'e', 'r', 's', '。', 'あ。', 'U', 'sU']);
const after = (breakers: string[], tokens: number[]): number =>
  tokensAfterBreaker(dryBreakers(breakers, vocabulary), Int32Array.from(tokens), tokens.length, tokens.length);

test('every token that contains the string breaks by itself', () => {
  expect([...dryBreakers(['\n'], vocabulary).tails]).toEqual([
    [1, [new Int32Array()]],
    [2, [new Int32Array()]],
  ]);
  expect(after(['\n'], [0, 1, 0, 0])).toBe(2);
});

test('a token that begins the string breaks only where the rest follows', () => {
  expect(after(['User:'], [0, 3, 5, 6, 0, 0])).toBe(2);
  expect(after(['User:'], [0, 4, 6, 0])).toBe(1);
  expect(after(['User:'], [0, 3, 0, 0])).toBe(4);
  expect(after(['User:'], [0, 3])).toBe(2);
});

test('a token that ends with the beginning of the string is such a head', () => {
  expect(after(['User'], [13, 9, 5, 0])).toBe(1);
});

test('the nearest breaker counts', () => {
  expect(after(['\n', ':'], [2, 0, 6, 0, 0, 0])).toBe(3);
  expect(after([], [0, 0])).toBe(2);
});

test('a string without any ASCII is only looked for as a whole', () => {
  expect([...dryBreakers(['。あ'], vocabulary).tails.keys()]).toEqual([]);
  expect([...dryBreakers(['。'], vocabulary).tails.keys()]).toEqual([10, 11]);
});

test('strings are cut to 40 bytes at a character, their tails to 20 tokens, and there are 128 of them', () => {
  const long = dryBreakers([`U${'s'.repeat(60)}`], vocabulary);
  expect(long.tails.get(12)).toEqual([new Int32Array(20).fill(9)]);
  const wide = dryBreakers([`U${'。'.repeat(20)}`], vocabulary);
  expect(wide.tails.get(12)).toEqual([new Int32Array(13).fill(10)]);
  const many = [...new Array(128).fill('x'), ':'];
  expect([...dryBreakers(many, vocabulary).tails.keys()]).toEqual([0]);
});

test('any breakers are found in any pieces as by comparing each with each', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '。'), minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 5 }), fc.array(letters, { maxLength: 8 }), (breakers, pieces) => {
      const known = { ...vocabularyOf(pieces), tokenize: (text: string) => [...text].map((one) => one.charCodeAt(0)) };
      const found = pieces.map((_, token) => {
        const tails = dryBreakers(breakers, known).tails.get(token) ?? [];
        return tails.map((tail) => String.fromCharCode(...tail)).sort();
      });
      expect(found).toEqual(pieces.map((piece) => [...new Set(breakers.flatMap((one) => rests(piece, one)))].sort()));
    }),
  );
});

function rests(piece: string, breaker: string): string[] {
  if (piece.includes(breaker)) return [''];
  if (!/[ab]/.test(breaker)) return [];
  const lengths = Array.from({ length: breaker.length - 1 }, (_, index) => index + 1);
  return lengths.filter((length) => piece.endsWith(breaker.slice(0, length))).map((length) => breaker.slice(length));
}
