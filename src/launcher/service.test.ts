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

test('fitOf: fits, tight or too large by the free memory', () => {
  const { needBytes } = fitOf(shape, wish, 64 * gigabyte);
  expect(needBytes).toBeGreaterThan(4 * gigabyte);
  expect(fitOf(shape, wish, 64 * gigabyte).verdict).toBe('fits');
  expect(fitOf(shape, wish, needBytes).verdict).toBe('tight');
  expect(fitOf(shape, wish, needBytes - 1).verdict).toBe('large');
});

test('fitOf: uses the context of the server', () => {
  expect(fitOf(shape, wish, gigabyte).contextSize).toBe(4096);
  expect(fitOf(shape, { ...wish, contextSizeGiven: true }, gigabyte).contextSize).toBe(16384);
  expect(fitOf({ ...shape, trainedContext: 0 }, wish, gigabyte).contextSize).toBe(16384);
});

test('fitOf: more context and more concurrent requests need more memory', () => {
  const need = (own: Partial<typeof wish>) =>
    fitOf(shape, { ...wish, contextSizeGiven: true, ...own }, gigabyte).needBytes;
  expect(need({ contextSize: 32768 })).toBeGreaterThan(need({}));
  expect(need({ sequences: 4 })).toBeGreaterThan(need({}));
});

test('fitOf: layers that fit on GPUs need no main memory', () => {
  const gpu = (free: number) => ({ description: 'a card', freeBytes: free * gigabyte });
  expect(fitOf(shape, wish, gigabyte)).not.toHaveProperty('cards');
  expect(fitOf(shape, wish, gigabyte, [gpu(24)])).toMatchObject({
    verdict: 'fits',
    cards: { layers: 33, of: 33, names: 'a card', freeBytes: 24 * gigabyte },
  });
  const { needBytes } = fitOf(shape, wish, gigabyte);
  const half = fitOf(shape, wish, needBytes * 0.6, [gpu(3), gpu(1)]);
  expect(half.cards?.layers).toBeGreaterThan(10);
  expect(half.cards?.layers).toBeLessThan(20);
  expect(half).toMatchObject({ verdict: 'tight', cards: { names: 'a card, a card' } });
  expect(fitOf(shape, wish, needBytes / 4, [gpu(3)]).verdict).toBe('large');
});
