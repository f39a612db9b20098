import { expect, test } from 'vitest';
import { splitBans } from './ban-list.ts';
import { vocabularyOf } from './testing/candidates.ts';

const vocabulary = vocabularyOf(['a', 'b', 'cat', ' Cat', 'scatter', ' ', 'incomprehensible', '']);

test('a short single token forbids every token that contains it, in any case', () => {
  expect(splitBans(['CAT'.toLowerCase()], vocabulary)).toEqual({
    tokens: Int32Array.of(2, 3, 4),
    phrases: [],
    delay: 0,
    dropped: 0,
  });
});

test('several tokens or 12 bytes make a phrase, and the longest sets the delay', () => {
  const { tokens, phrases, delay } = splitBans(['a b a', 'ab', 'incomprehensible', '', 'b'], vocabulary);
  expect([...tokens]).toEqual([1, 6]);
  expect(phrases).toEqual(['a b a', 'ab', 'incomprehensible']);
  expect(delay).toBe(5 + 3);
});

test('what is past 768 entries is counted as dropped', () => {
  const { phrases, dropped } = splitBans(new Array(770).fill('ab'), vocabulary);
  expect([phrases.length, dropped]).toEqual([768, 2]);
});

test('hundreds of short entries are looked for together', () => {
  const entries = Array.from({ length: 600 }, (_, index) => String.fromCharCode(0x4e00 + index));
  const pieces = Array.from({ length: 5000 }, (_, index) => `x${String.fromCharCode(0x4e00 + index)}y`);
  const { tokens } = splitBans(entries, { ...vocabularyOf(pieces), tokenize: () => [0] });
  expect([...tokens]).toEqual(Array.from({ length: 600 }, (_, index) => index));
});
