import { expect, test } from 'vitest';
import { hasAllWords } from './connections.ts';

test('hasAllWords: all of them in order, once or repeated', () => {
  expect(hasAllWords('"w0" ... " w1" ... " w2"', 3)).toBe(true);
  expect(hasAllWords('w0 w1 w2 done: "w0 w1 w2"', 3)).toBe(true);
});

test.each(['', 'w0 w1', 'w0 w2 w1', 'w0 w0 w1 w2', 'w0 w1 w2 w0', 'w0 w1 w2 w3'])('hasAllWords: not %j', (text) =>
  expect(hasAllWords(text, 3)).toBe(false),
);

test('hasAllWords: not a body that was cut', () => expect(hasAllWords(undefined, 1)).toBe(false));
