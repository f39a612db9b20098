import { expect, test } from 'vitest';
import { layersThatFit } from './gpu-fit.ts';

const gigabyte = 2 ** 30;
const model = { modelBytes: 6 * gigabyte, layers: 31, cacheBytes: 2 * gigabyte, marginBytes: gigabyte };

test.each([
  [24, 32],
  [9, 32],
  [5, 16],
  [1, 0],
  [0, 0],
])('with %i GiB free, %i of 31 + 1 layers of a quarter GiB go to the GPU', (free, expected) => {
  expect(layersThatFit({ ...model, freeBytes: free * gigabyte })).toBe(expected);
});
