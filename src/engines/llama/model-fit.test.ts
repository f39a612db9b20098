import { describe, expect, test } from 'vitest';
import { modelFit } from './memory-fit.ts';
import { defaultMemory } from './model-shape.ts';

const gigabyte = 2 ** 30;
/** Eight gigabytes of weights and one of cache. */
const shape = {
  architecture: 'llama',
  layers: 31,
  trainedContext: 8192,
  sizeBytes: 8 * gigabyte,
  cacheBytesPerToken: 2 ** 17,
  compute: { output: 2 ** 18, layer: 0, attention: 0, heads: 0 },
};
const options = { ...defaultMemory, contextSize: 8192, marginBytes: gigabyte, projectorBytes: 0 };

const fit = (gpus: readonly number[], main: number, own = {}) =>
  modelFit({ ...shape, ...own }, options, {
    gpuBytes: gpus.map((one) => one * gigabyte),
    mainBytes: main * gigabyte,
  });

describe('modelFit', () => {
  test.each([
    ['a large card', [24], 4, { fit: 'card', gpuLayers: 32, speed: 'good' }],
    ['a card that holds half of it', [6], 16, { fit: 'part', gpuLayers: 16, speed: 'slow' }],
    ['the same with little main memory', [6], 4, { fit: 'no', gpuLayers: 16 }],
    ['a card that is full', [1], 16, { fit: 'processor', gpuLayers: 0, speed: 'very slow' }],
    ['two cards', [6, 6], 4, { fit: 'card', gpuLayers: 32 }],
    ['no card', [], 16, { fit: 'processor', gpuLayers: 0 }],
    ['no card and little memory', [], 8, { fit: 'no' }],
  ])('%s', (_, gpus, main, expected) => {
    expect(fit(gpus, main)).toMatchObject({ ...expected, layers: 32 });
  });

  test('memory: weights, cache, compute buffers and the projector', () => {
    const withProjector = { ...options, projectorBytes: gigabyte };
    const { memoryBytes } = modelFit(shape, withProjector, { gpuBytes: [], mainBytes: 0 });
    expect(memoryBytes).toBe(10.5 * gigabyte);
  });

  test('speed: by the weights that are read for each token', () => {
    expect(fit([], 16, { activeBytes: gigabyte / 2 }).speed).toBe('fast');
    expect(fit([], 16, { activeBytes: 2 * gigabyte }).speed).toBe('good');
    expect(fit([24], 16, { activeBytes: 2 * gigabyte }).speed).toBe('fast');
  });

  test('input embeddings stay in main memory', () => {
    const hostBytes = 2 * gigabyte;
    expect(fit([8.6], 4).fit).toBe('part');
    expect(fit([8.6], 4, { hostBytes })).toMatchObject({ fit: 'card' });
    expect(fit([8.6], 2, { hostBytes })).toMatchObject({ fit: 'no' });
  });
});
