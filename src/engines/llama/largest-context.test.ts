import { expect, test } from 'vitest';
import { largestContext } from './memory-fit.ts';
import { defaultMemory, type ModelShape } from './model-shape.ts';

/** 64 KiB of cache per token: a GiB for 16,384 tokens. */
const shape = {
  architecture: 'qwen3',
  layers: 28,
  trainedContext: 131_072,
  sizeBytes: 4 * 2 ** 30,
  cacheBytesPerToken: 65_536,
} as ModelShape;
const options = { ...defaultMemory, contextSize: 16_384 };
const gib = 2 ** 30;
const size = (free: number, gpus = 0, own: Partial<ModelShape> = {}) =>
  largestContext(
    { ...shape, ...own },
    options,
    { freeBytes: free * gib, gpuBytes: gpus * gib, auxiliaryBytes: 0 },
    524_288,
  );

test('largestContext: a quarter of the main memory that the model leaves', () => {
  expect(size(5 + 1)).toBe(16_384);
  expect(size(5 + 3)).toBe(24_576);
  expect(size(5 + 4)).toBe(32_768);
  expect(size(5 + 8)).toBe(49_152);
  expect(size(5 + 1000)).toBe(131_072);
});

test('largestContext: half of what the model leaves on GPUs, and no layer moves to main memory for it', () => {
  expect(size(64, 5 + 2)).toBe(32_768);
  expect(size(64, 5 + 14)).toBe(131_072);
  expect(size(64, 4)).toBe(16_384);
});

test('largestContext: the default where the model was trained for less, or nothing is known', () => {
  expect(size(1000, 0, { trainedContext: 2048 })).toBe(16_384);
  expect(size(1000, 0, { trainedContext: 0 })).toBe(16_384);
  expect(size(1000, 0, { trainedContext: 1_000_000 })).toBe(524_288);
  expect(size(1000, 0, { trainedContext: 20_000 })).toBe(20_000);
});
