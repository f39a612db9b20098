import { expect, test } from 'vitest';
import { fieldsOf, flagIn, listIn, numberIn, percentIn, textIn, textsIn } from './loose.ts';

test.each([
  ['a', 'a'],
  [7, '7'],
  [Number.NaN, ''],
  [null, ''],
  [{}, ''],
])('textIn: %j is %j', (value, expected) => {
  expect(textIn(value)).toBe(expected);
});

test.each([
  [3, 3],
  ['3.5', 3.5],
  ['', 9],
  ['x', 9],
  [null, 9],
  [Number.POSITIVE_INFINITY, 9],
])('numberIn: %j is %j', (value, expected) => {
  expect(numberIn(value, 9)).toBe(expected);
});

test.each([
  [true, true],
  [0, false],
  [1, true],
  ['false', true],
  [undefined, true],
])('flagIn: %j is %j with default true', (value, expected) => {
  expect(flagIn(value, true)).toBe(expected);
});

test('percentIn: clamps to 0 to 100', () => {
  expect([-5, '40', 400, null].map(percentIn)).toEqual([0, 40, 100, 100]);
});

test('fieldsOf and listIn: return empty values for other types', () => {
  for (const value of [null, [], 'x', 7]) expect(fieldsOf(value)).toEqual({});
  for (const value of [null, {}, 'x']) expect(listIn(value)).toEqual([]);
  expect(listIn([1, 2, 3], 2)).toEqual([1, 2]);
  expect(textsIn(['a', 1, 'b', null])).toEqual(['a', 'b']);
});
