import { expect, test } from 'vitest';
import { readFlag, readInteger, readNumber, readText, readTexts } from './fields.ts';

test.each<[unknown, number]>([
  [12, 12],
  [12.9, 12],
  [-12.9, -12],
  ['12', 12],
  [' -3 ', -3],
  ['true', 1],
  ['FALSE', 0],
  [true, 1],
  [false, 0],
  [null, 7],
  [undefined, 7],
  ['', 7],
  ['12.5', 7],
  ['many', 7],
  [Number.NaN, 7],
  [Number.POSITIVE_INFINITY, 7],
  [[], 7],
  [{}, 7],
  [1e300, 2 ** 31 - 1],
  ['-99999999999999999999', -(2 ** 31)],
])('%o read as an integer with default 7 is %o', (value, expected) => {
  expect(readInteger(value, 7)).toBe(expected);
});

test.each<[unknown, number]>([
  [0.5, 0.5],
  ['0.5', 0.5],
  ['.5', 0.5],
  [' 1e-3 ', 0.001],
  [true, 1],
  [null, 7],
  [undefined, 7],
  ['', 7],
  ['0x10', 7],
  ['nan', 7],
  ['Infinity', 7],
  [Number.POSITIVE_INFINITY, 7],
  [[1], 7],
  [{}, 7],
])('%o read as a number with default 7 is %o', (value, expected) => {
  expect(readNumber(value, 7)).toBe(expected);
});

test.each<[unknown, boolean]>([
  [true, true],
  [false, false],
  [1, true],
  [0, false],
  ['True', true],
  ['false', false],
  ['', false],
  [null, true],
  [undefined, true],
])('%o read as a switch that is on by default is %o', (value, expected) => {
  expect(readFlag({ trim_stop: value }, 'trim_stop', true)).toBe(expected);
});

test.each([['maybe'], [[]], [{}]])('%o is no switch', (value) => {
  expect(() => readFlag({ trim_stop: value }, 'trim_stop', true)).toThrow('trim_stop must be true or false.');
});

test('null is an empty text, and what is no text is refused', () => {
  expect(readText({ prompt: null }, 'prompt')).toBe('');
  for (const value of [5, true, [], {}]) expect(() => readText({ prompt: value }, 'prompt')).toThrow('prompt must be');
});

test.each<[unknown, string[]]>([
  [
    ['a', '', 'b', 'c', 'd'],
    ['a', 'b'],
  ],
  ['["a", "b"]', ['a', 'b']],
  ['just one', ['just one']],
  ['[not json', ['[not json']],
  ['', []],
  [null, []],
])('%o read as at most three texts is %o', (value, expected) => {
  expect(readTexts({ banned_tokens: value }, 'banned_tokens', 3)).toEqual(expected);
});

test.each([[5], [{}], [['a', 1]], ['[1]']])('%o is no list of texts', (value) => {
  expect(() => readTexts({ banned_tokens: value }, 'banned_tokens', 3)).toThrow('an array of strings');
});
