import { expect, test } from 'vitest';
import { optional } from '../fields.ts';
import { readKeepAlive } from './fields.ts';

test.each([
  [undefined, undefined],
  [null, undefined],
  ['', undefined],
  [0, 0],
  ['0', 0],
  ['0s', 0],
  [300, 300_000],
  [1.5, 1500],
  ['90', 90_000],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['1.5h', 5_400_000],
  ['300ms', 300],
  ['2s500ms', 2500],
  [-1, Number.POSITIVE_INFINITY],
  ['-1', Number.POSITIVE_INFINITY],
  ['-1m', Number.POSITIVE_INFINITY],
])('readKeepAlive: %j is %j milliseconds', (value, expected) =>
  expect(optional(readKeepAlive)(value, 'keep_alive')).toBe(expected),
);

test.each(['soon', '5 minutes', '5x', 'm', {}, true, []])('readKeepAlive: refuses %j', (value) =>
  expect(() => readKeepAlive(value, 'keep_alive')).toThrow(/keep_alive must be a duration/),
);
