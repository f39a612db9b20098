import { describe, expect, test } from 'vitest';
import { defaultSettings, type FlagKey, type Settings } from '../config/flags.ts';
import type { ModelFile } from '../engines/llama/load-options.ts';
import { fittedContext } from './fitted-context.ts';

const gib = 2 ** 30;

interface World {
  readonly own?: Partial<Settings>;
  readonly trainedContext?: number;
  readonly free?: number;
  readonly gpus?: readonly number[];
}

/** A model of 4 GiB with 64 KiB of cache per token. It needs 5 GiB with the default context. */
async function fit({ own = {}, trainedContext = 131_072, free = 5 + 4, gpus = [] }: World = {}) {
  const shape = { architecture: 'qwen3', layers: 28, trainedContext, sizeBytes: 4 * gib, cacheBytesPerToken: 65_536 };
  const running = { settings: { ...defaultSettings, ...own }, given: new Set(Object.keys(own) as FlagKey[]) };
  let probes = 0;
  const memory = async () => {
    probes += 1;
    return { mainBytes: free * gib, gpuBytes: gpus.map((gpu) => gpu * gib) };
  };
  const fitted = await fittedContext(running, { path: 'm.gguf', shape } as ModelFile, memory);
  return { ...fitted, probes };
}

describe('fittedContext', () => {
  test('a context as large as fits beside the model, with the reason', async () => {
    expect(await fit()).toMatchObject({
      size: 32_768,
      reason: 'Context 32768, because there is room for it in memory beside the model; it was trained for 131072.',
    });
    const onGpu = await fit({ gpus: [18], free: 6 });
    expect(onGpu).toMatchObject({ size: 98_304, reason: expect.stringContaining('on the graphics cards') });
    expect((await fit({ free: 1000 })).reason).toBe(
      'Context 131072, because there is room for it in memory beside the model.',
    );
  });

  test('at least the default, and the reason says why it is not more', async () => {
    expect(await fit({ free: 5 })).toMatchObject({
      size: 16_384,
      reason:
        'Context 16384, because there is no room for more in memory beside the model; it was trained for 131072. --contextsize sets another size.',
    });
  });

  test.each<[string, World]>([
    ['an explicit context', { own: { contextsize: 16_384 } }],
    ['explicit layers', { own: { gpulayers: 5 }, gpus: [40] }],
    ['a stretched context', { own: { ropeconfig: [0.5, 10_000] } }],
    ['a model that was trained for less', { trainedContext: 2048 }],
  ])('%s: the context stays, without a reason and without looking for GPUs', async (_, world) => {
    const { size, reason, probes } = await fit(world);
    expect({ size, reason, probes }).toEqual({ size: defaultSettings.contextsize, reason: undefined, probes: 0 });
  });

  test.each<[string, World]>([
    ['cards that are full', { gpus: [0.5], free: 100 }],
    ['a model that fits on cards only in part', { gpus: [4], free: 100 }],
  ])('%s: the context stays', async (_, world) => {
    expect((await fit(world)).size).toBe(defaultSettings.contextsize);
  });

  test('router mode leaves room for other models', async () => {
    expect((await fit({ own: { routermode: true } })).size).toBe(24_576);
  });

  test('--targetcontext takes more of the memory, and never less than without it', async () => {
    expect((await fit({ own: { targetcontext: 65_536 } })).size).toBe(49_152);
    expect((await fit({ own: { targetcontext: 65_536 }, free: 5 + 6 })).size).toBe(65_536);
    expect((await fit({ own: { targetcontext: 65_536 }, free: 1000 })).size).toBe(131_072);
    expect((await fit({ own: { targetcontext: 65_536 }, trainedContext: 40_960, free: 1000 })).size).toBe(40_960);
  });
});
