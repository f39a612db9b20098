import fc from 'fast-check';
import { expect, test } from 'vitest';
import { limitedTexts, looseFlag, looseNumber, looseTexts, looseWhole, looseWholeWithin } from './loose.ts';
import { orElse } from './readers.ts';

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
])('looseWhole: %o with default 7 is %o', (value, expected) => {
  expect(orElse(looseWhole, 7)(value, 'x')).toBe(expected);
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
])('looseNumber: %o with default 7 is %o', (value, expected) => {
  expect(orElse(looseNumber, 7)(value, 'x')).toBe(expected);
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
])('looseFlag: %o with default true is %o', (value, expected) => {
  expect(orElse(looseFlag, true)(value, 'trim_stop')).toBe(expected);
});

test.each([['maybe'], [[]], [{}]])('looseFlag: refuses %o', (value) => {
  expect(() => looseFlag(value, 'trim_stop')).toThrow('trim_stop must be true or false.');
});

test('loose numbers: NaN for values that are no number', () => {
  for (const value of ['many', '', [], {}, Number.POSITIVE_INFINITY]) {
    expect(looseNumber(value, 'x')).toBeNaN();
    expect(looseWhole(value, 'x')).toBeNaN();
  }
});

test('looseWholeWithin: moves values into the range', () => {
  const seed = looseWholeWithin(-1, 2 ** 32 - 1);
  expect([-99, -1, 0, 2 ** 32 - 1, 1e20, '7'].map((value) => seed(value, 'seed'))).toEqual([
    -1,
    -1,
    0,
    2 ** 32 - 1,
    2 ** 32 - 1,
    7,
  ]);
  expect(seed('x', 'seed')).toBeNaN();
});

test('looseNumber: finite or the default for any JSON value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(Number.isFinite(orElse(looseNumber, 7)(value, 'x'))).toBe(true);
      const whole = orElse(looseWhole, 7)(value, 'x');
      expect(Number.isInteger(whole)).toBe(true);
      expect(Math.abs(whole)).toBeLessThanOrEqual(2 ** 31);
    }),
  );
});

test('loose numbers: a number and its digits are equal', () => {
  fc.assert(
    fc.property(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), (whole, number) => {
      expect(looseWhole(String(whole), 'x')).toBe(looseWhole(whole, 'x'));
      expect(looseNumber(String(number), 'x')).toBe(Number(String(number)));
    }),
  );
});

test('looseTexts: limits all texts together, and names their length', () => {
  const half = 'a'.repeat(25_000);
  expect(limitedTexts('stop', [half, half])).toEqual([half, half]);
  expect(() => limitedTexts('options.stop', [half, half, 'b'])).toThrow(
    'options.stop must be at most 50000 characters, all texts together; these are 50001.',
  );
  expect(() => looseTexts(9)([half, half, 'b'], 'stop')).toThrow('stop must be at most 50000 characters');
  expect(looseTexts(2)([half, half, 'b'], 'stop')).toEqual([half, half]);
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
])('looseTexts: %o with at most three is %o', (value, expected) => {
  expect(orElse(looseTexts(3), [])(value, 'banned_tokens')).toEqual(expected);
});

test.each([[5], [{}], [['a', 1]], ['[1]']])('looseTexts: refuses %o', (value) => {
  expect(() => looseTexts(3)(value, 'banned_tokens')).toThrow('an array of strings');
});
