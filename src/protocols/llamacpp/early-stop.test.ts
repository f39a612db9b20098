import { expect, test } from 'vitest';
import { lineTooShallow } from './early-stop.ts';

test.each<[string, number, number | undefined]>([
  ['a\nb', 0, undefined],
  ['a\nb', 1, 2],
  ['a\n  b', 2, undefined],
  ['a\n  b\n c', 2, 6],
  ['a\n\tb', 1, undefined],
  ['a\n ', 4, undefined],
  ['a\n\n  b', 2, 2],
  ['abc', 4, undefined],
])('in %j with an indent of %i the text ends at %s', (text, least, end) => {
  expect(lineTooShallow(text, least)).toBe(end);
});
