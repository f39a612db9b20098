import { expect, test } from 'vitest';
import { byteSize } from './readable.ts';

test.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1536, '2 kB'],
  [124_358_656, '124 MB'],
  [5_680_522_464, '5.7 GB'],
  [2e12, '2.0 TB'],
  [5e15, '5000.0 TB'],
])('byteSize: %i is %s', (bytes, expected) => {
  expect(byteSize(bytes)).toBe(expected);
});
