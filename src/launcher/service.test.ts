import { expect, test } from 'vitest';
import { fitOf } from './service.ts';

const gigabyte = 2 ** 30;
const shape = {
  architecture: 'llama',
  layers: 32,
  trainedContext: 4096,
  sizeBytes: 4 * gigabyte,
  cacheBytesPerToken: 2 ** 17,
};
const wish = { contextSize: 16384, contextSizeGiven: false, sequences: 1 };

test('a model with room around it fits, one that fills all is tight, and more is too large', () => {
  const { needBytes } = fitOf(shape, wish, 64 * gigabyte);
  expect(needBytes).toBeGreaterThan(4 * gigabyte);
  expect(fitOf(shape, wish, 64 * gigabyte).verdict).toBe('fits');
  expect(fitOf(shape, wish, needBytes).verdict).toBe('tight');
  expect(fitOf(shape, wish, needBytes - 1).verdict).toBe('large');
});

test('the context counts that the server would give', () => {
  expect(fitOf(shape, wish, gigabyte).contextSize).toBe(4096);
  expect(fitOf(shape, { ...wish, contextSizeGiven: true }, gigabyte).contextSize).toBe(16384);
  expect(fitOf({ ...shape, trainedContext: 0 }, wish, gigabyte).contextSize).toBe(16384);
});

test('more context and more requests at once need more', () => {
  const need = (own: Partial<typeof wish>) =>
    fitOf(shape, { ...wish, contextSizeGiven: true, ...own }, gigabyte).needBytes;
  expect(need({ contextSize: 32768 })).toBeGreaterThan(need({}));
  expect(need({ sequences: 4 })).toBeGreaterThan(need({}));
});
