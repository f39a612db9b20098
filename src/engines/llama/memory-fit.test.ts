import { assert, integer, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../../config/flags.ts';
import { loadOptions } from './load-options.ts';
import { type Fit, gpuNeed, hasRoomForOwnCells, layersThatFit, placedBytes, placementProblem } from './memory-fit.ts';

const gigabyte = 2 ** 30;
const shape = {
  architecture: 'llama',
  layers: 31,
  trainedContext: 4096,
  sizeBytes: 6 * gigabyte,
  cacheBytesPerToken: 2 ** 17,
  compute: { output: 2 ** 18, layer: 0, attention: 0, heads: 0 },
};
const options = (settings: Partial<Settings> = {}) =>
  loadOptions(
    { ...defaultSettings, contextsize: 4096, batchsize: 512, ...settings },
    { model: 'm.gguf', name: 'm', shape, threads: 1, contextSizeGiven: true },
  );

describe('placedBytes', () => {
  const oneContext = 4096 * 2 ** 17;

  test('weights, the KV cache of a context, and compute buffers', () => {
    expect(placedBytes(options())).toEqual({
      modelBytes: shape.sizeBytes,
      cacheBytes: oneContext,
      fixedBytes: 512 * 2 ** 20,
    });
  });

  test('one context per sequence, and one more for a negative prompt', () => {
    expect(placedBytes(options({ parallelrequests: 4 })).cacheBytes).toBe(4 * oneContext);
    expect(placedBytes(options({ parallelrequests: 4, enableguidance: true })).cacheBytes).toBe(5 * oneContext);
  });

  test.each<[Partial<Settings>, number]>([
    [{ quantkv: 'q8_0' }, 0.53125],
    [{ quantkv: 'q4_0' }, 0.28125],
    [{ quantkv: 'q4_0', noflashattention: true }, 0.640625],
    [{ lowvram: true }, 0],
  ])('%j: %d of the 16-bit cache', (settings, share) => {
    expect(placedBytes(options(settings)).cacheBytes).toBe(share * oneContext);
  });

  test('a default context is limited by the training', () => {
    const given = { ...options({ contextsize: 16_384 }), contextSizeGiven: false };
    expect(placedBytes(given).cacheBytes).toBe(oneContext);
  });

  test('includes a projector, and a draft model with the cache of its sequences', () => {
    const draft = { sizeBytes: gigabyte, cacheBytesPerToken: 1000 };
    const { fixedBytes } = placedBytes(options({ parallelrequests: 2 }), { projectorBytes: 77, draft });
    expect(fixedBytes).toBe(512 * 2 ** 20 + 77 + gigabyte + 2 * 4096 * 1000);
  });
});

describe('hasRoomForOwnCells', () => {
  // The weights take 6 GB, the buffers half a gigabyte, and four contexts 2 GB.
  const gpus = (gigabytes: number) => ({ freeBytes: [gigabytes * gigabyte], marginBytes: 0, split: [] });
  const shared = { parallelrequests: 4, kvpool: -1 };

  test.each([
    ['if they take at most half of what is left beside the model', shared, 10.6, true],
    ['not if they take more than half', shared, 10.4, false],
    ['not beside other models', { ...shared, routermode: true }, 40, false],
    ['not if a flag asks for a pool', { parallelrequests: 4, kvpool: 9000 }, 40, false],
  ])('%s', (_, settings, gigabytes, expected) => {
    expect(hasRoomForOwnCells(options(settings), gpus(gigabytes))).toBe(expected);
  });
});

describe('layersThatFit', () => {
  /** A layer takes a quarter of a gigabyte. */
  const fit = (...free: readonly number[]): Fit => ({
    modelBytes: 6 * gigabyte,
    cacheBytes: 2 * gigabyte,
    fixedBytes: 0,
    layers: 31,
    freeBytes: free.map((one) => one * gigabyte),
    marginBytes: gigabyte,
    split: [],
  });

  test.each([
    [24, 32],
    [9, 32],
    [5, 16],
    [1, 0],
    [0, 0],
  ])('one GPU with %i GiB free: %i of 31 + 1 layers', (free, expected) => {
    expect(layersThatFit(fit(free))).toBe(expected);
  });

  test('two GPUs: the free memory of both, less the margin of each', () => {
    expect(layersThatFit(fit(3, 3))).toBe(16);
    expect(layersThatFit(fit(3, 0))).toBe(8);
    expect(layersThatFit(fit(5, 5))).toBe(32);
  });

  test('two GPUs, one filled by another program: the free memory of the other', () => {
    expect(layersThatFit(fit(0.2, 5))).toBe(16);
  });

  test('--tensor_split: the GPU that is full first limits all', () => {
    expect(layersThatFit({ ...fit(5, 3), split: [1, 1] })).toBe(16);
    expect(layersThatFit({ ...fit(5, 3), split: [2, 1] })).toBe(24);
    expect(layersThatFit({ ...fit(5, 3), split: [1, 0] })).toBe(16);
    expect(layersThatFit({ ...fit(5, 3), split: [1] })).toBe(16);
    expect(layersThatFit({ ...fit(5, 3), split: [0, 0] })).toBe(24);
  });

  test('subtracts buffers, projector and draft model before the first layer', () => {
    expect(layersThatFit({ ...fit(5), fixedBytes: 3 * gigabyte })).toBe(4);
    expect(layersThatFit({ ...fit(5), fixedBytes: 9 * gigabyte })).toBe(0);
  });

  test('never exceeds the number of layers, never decreases with more memory', () => {
    const some = integer({ min: 0, max: 64 });
    assert(
      property(some, some, some, (one, two, more) => {
        const layers = layersThatFit(fit(one, two));
        expect(layers).toBeGreaterThanOrEqual(0);
        expect(layersThatFit(fit(one, two + more))).toBeGreaterThanOrEqual(layers);
        expect(layersThatFit(fit(one, two + more))).toBeLessThanOrEqual(32);
      }),
    );
  });
});

describe('gpuNeed', () => {
  test('all layers with the margin, some layers by their share, no layers', () => {
    const all = gpuNeed(options())?.bytes ?? 0;
    expect(all).toBe(6 * gigabyte + 4096 * 2 ** 17 + 512 * 2 ** 20 + 1024 * 2 ** 20);
    expect(gpuNeed(options({ gpulayers: 16 }))?.bytes).toBe((6 * gigabyte + 4096 * 2 ** 17) / 2 + 512 * 2 ** 20);
    expect(gpuNeed(options({ gpulayers: 0 }))).toBeUndefined();
    expect(gpuNeed(options({ usecpu: true }))).toBeUndefined();
  });

  test('names the GPUs of the flags', () => {
    expect(gpuNeed(options({ usecuda: ['1'] }))?.devices).toEqual(['1']);
    expect(gpuNeed(options())?.devices).toEqual([]);
  });
});

describe('placementProblem', () => {
  const gpus = [
    { name: 'CUDA0', description: 'first' },
    { name: 'CUDA1', description: 'second' },
  ];
  const none = { devices: [], tensorSplit: [], mainGpu: -1 };

  test.each([
    [none],
    [{ ...none, devices: ['1'] }],
    [{ ...none, devices: ['cuda0', '1'] }],
    [{ ...none, tensorSplit: [7, 3] }],
    [{ ...none, tensorSplit: [7, 3, 0, 0] }],
    [{ ...none, mainGpu: 1 }],
  ])('none with %j', (flags) => {
    expect(placementProblem(flags, gpus)).toBeUndefined();
  });

  test.each([
    [
      { ...none, devices: ['0', '3'] },
      'the card 3 (--usecuda, --usevulkan, --device) is not here; there are 0 (CUDA0, first), 1 (CUDA1, second)',
    ],
    [{ ...none, devices: ['Vulkan0'] }, 'the card Vulkan0'],
    [{ ...none, tensorSplit: [1, 1, 1] }, '--tensor_split has 3 shares, and the model uses 2 of the cards'],
    [
      { ...none, devices: ['1'], tensorSplit: [1, 1] },
      '--tensor_split has 2 shares, and the model uses 1 of the cards',
    ],
    [{ ...none, mainGpu: 2 }, '--maingpu 2 is not here; there are 0'],
  ])('with %j: %s', (flags, sentence) => {
    expect(placementProblem(flags, gpus)).toContain(sentence);
  });
});
