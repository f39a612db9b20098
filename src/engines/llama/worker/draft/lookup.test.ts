import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lookupDraft } from './lookup.ts';

const draft = (tokens: number[], pattern = 2, most = 4) => [
  ...lookupDraft(Int32Array.from(tokens), tokens.length, pattern, most),
];

test('what followed the same tokens before is guessed to follow again', () => {
  expect(draft([1, 2, 3, 4, 5, 9, 1, 2])).toEqual([3, 4, 5, 9]);
});
test('the latest place counts', () => expect(draft([1, 2, 3, 1, 2, 7, 1, 2], 2, 1)).toEqual([7]));
test('a text that repeats itself at the end is guessed to go on so', () => expect(draft([5, 5, 5])).toEqual([5]));
test('without a place before there is no guess', () => expect(draft([1, 2, 3, 4])).toEqual([]));
test('a text shorter than the pattern gives none', () => expect(draft([1], 3)).toEqual([]));
test('a guess is never longer than asked for, and always stood in the text', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(3), { maxLength: 40 }),
      fc.integer({ min: 1, max: 4 }),
      fc.nat(8),
      (tokens, n, most) => {
        const guess = draft(tokens, n, most);
        expect(guess.length).toBeLessThanOrEqual(most);
        const tail = tokens.slice(-n);
        if (guess.length > 0) expect(tokens.join().includes([...tail, ...guess].join())).toBe(true);
      },
    ),
  );
});
