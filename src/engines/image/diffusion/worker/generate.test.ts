import { describe, expect, test } from 'vitest';
import { AppError } from '../../../../core/errors.ts';
import type { ImageRequest } from '../../../../core/image.ts';
import { type Pixels, readImage, writePng } from '../../codec.ts';
import type { ImageTaskEvent } from '../../host.ts';
import { imageRequest } from '../../testing/request.ts';
import { diffusionFacts, type Family } from '../options.ts';
import { type DiffusionDriver, type DiffusionParams, generate, generationPlan, loadReason } from './generate.ts';

const plain = (width: number, height: number, colour: readonly [number, number, number]): Pixels => ({
  data: Uint8Array.from({ length: width * height * 3 }, (_, index) => colour[index % 3] as number),
  width,
  height,
  channels: 3,
});
const blue = await writePng(plain(64, 64, [32, 96, 192]));
const mask = await writePng({
  data: Uint8Array.from({ length: 64 * 64 }, (_, index) => (index % 64 < 32 ? 0 : 255)),
  width: 64,
  height: 64,
  channels: 1,
});

/** By default, a driver that draws everything in red. */
function world(driver?: () => Promise<Uint8Array>) {
  const asked: { params: DiffusionParams; initial: boolean }[] = [];
  const told: ImageTaskEvent[] = [];
  const red: DiffusionDriver['run'] = async (task, { input, progress }) => {
    if (task.type !== 'generate') throw new Error('no picture to draw');
    const { params } = task;
    asked.push({ params, initial: input !== undefined });
    progress({ step: 1, steps: params.steps });
    return writePng(plain(params.width, params.height, [200, 20, 20]));
  };
  const facts = diffusionFacts({ path: '/m.gguf', family: 'sd1', loras: [] });
  const options = { facts, family: 'sd1', loras: { fixed: [], offered: [] }, tiledFrom: 512 } as const;
  const stop = new AbortController();
  const run = (changes: Partial<ImageRequest> = {}) =>
    generate(imageRequest({ sampler: '', scheduler: '', ...changes }), options, {
      runDriver: driver ?? red,
      signal: stop.signal,
      emit: (event) => told.push(event),
    });
  const images = () => told.flatMap((each) => (each.type === 'image' ? [each.png] : []));
  return { run, asked, told, images, stop };
}

const pixelAt = async (png: Uint8Array | undefined, x: number) => {
  const { data } = await readImage({ bytes: png ?? new Uint8Array(), field: 'x' });
  return [...data.subarray(x * 3, x * 3 + 3)];
};

describe('generate', () => {
  test('sends progress, each picture with its seed, and finish', async () => {
    const { run, told, asked } = world();
    await run({ count: 2, seed: 2 ** 32 - 1, steps: 3 });
    expect(told.map(({ type }) => type)).toEqual(['progress', 'image', 'progress', 'image', 'finish']);
    expect(asked.map(({ params }) => params.seed)).toEqual([2 ** 32 - 1, 0]);
    expect(told[3]).toMatchObject({ index: 1, seed: 0 });
    expect(told.at(-1)).toMatchObject({ width: 64, height: 64, steps: 3, sampler: 'euler_a', scheduler: 'discrete' });
  });

  test('rejects with the message of the driver', async () => {
    const { run } = world(() => Promise.reject(new Error('out of memory.')));
    await expect(run()).rejects.toMatchObject({
      code: 'engine-failed',
      message: 'The image engine could not do this: out of memory.',
    });
  });

  test('an abort rejects with its reason, whatever the driver reports', async () => {
    const own = world(async () => {
      own.stop.abort(new AppError('stopped', {}));
      throw new Error('Job cancelled');
    });
    await expect(own.run({ count: 3 })).rejects.toMatchObject({ code: 'stopped' });
    expect(own.images()).toEqual([]);
  });
});

describe('draw: img2img', () => {
  test('sends the initial picture at the size of the result', async () => {
    const { run, asked } = world();
    await run({ initial: blue, width: 128, height: 64, strength: 0.5 });
    expect(asked).toMatchObject([{ initial: true, params: { width: 128, strength: 0.5 } }]);
  });

  test('strength 0 draws nothing', async () => {
    const { run, asked, images } = world();
    await run({ initial: blue, strength: 0 });
    expect(asked).toEqual([]);
    expect(await pixelAt(images()[0], 5)).toEqual([32, 96, 192]);
  });

  test('inpainting keeps black areas bit for bit and redraws white ones', async () => {
    const { run, told, images } = world();
    await run({ initial: blue, mask, strength: 0.5 });
    expect([await pixelAt(images()[0], 0), await pixelAt(images()[0], 31)]).toEqual([
      [32, 96, 192],
      [32, 96, 192],
    ]);
    expect(await pixelAt(images()[0], 60)).toEqual([200, 20, 20]);
    expect(told.at(-1)).toMatchObject({ notes: [expect.stringContaining('no mask of its own')] });
  });

  test('rejects an unreadable picture before drawing', async () => {
    const { run, asked } = world();
    await expect(run({ initial: Uint8Array.of(1, 2, 3) })).rejects.toMatchObject({ status: 400 });
    await expect(run({ initial: blue, mask: Uint8Array.of(1) })).rejects.toThrow('mask must be');
    expect(asked).toEqual([]);
  });
});

const nothing = { initial: false, mask: false };

function plan(
  changes: Partial<ImageRequest> = {},
  given = nothing,
  more: { family?: Family; tiledFrom?: number } = {},
) {
  const family = more.family ?? 'sd1';
  const facts = diffusionFacts({ path: '/m.gguf', family, loras: [] });
  const options = { facts, family, loras: { fixed: [], offered: [] }, tiledFrom: more.tiledFrom ?? 512 };
  return generationPlan(imageRequest({ sampler: '', scheduler: '', ...changes }), given, options);
}

describe('paintPlan: params', () => {
  test('have all fields by their names in the driver', () => {
    const { params, notes } = plan({
      prompt: 'a boat',
      negativePrompt: 'fog',
      width: 512,
      height: 768,
      steps: 12,
      guidance: 5.5,
      sampler: 'heun',
      scheduler: 'karras',
      clipSkip: 2,
    });
    expect(params).toEqual({
      prompt: 'a boat',
      negative_prompt: 'fog',
      width: 512,
      height: 768,
      steps: 12,
      cfg_scale: 5.5,
      sampling_method: 'heun',
      scheduler: 'karras',
      batch_count: 1,
      clip_skip: 2,
      vae_tiling: true,
    });
    expect(notes).toEqual([]);
  });

  test('omit the default scheduler', () => {
    expect(plan().params).not.toHaveProperty('scheduler');
    expect(plan({ scheduler: 'discrete' }).params).not.toHaveProperty('scheduler');
    expect(plan().params.sampling_method).toBe('euler_a');
  });

  test('have a space for an empty prompt, which the driver rejects', () => {
    expect(plan({ prompt: '' }).params.prompt).toBe(' ');
  });

  test('have sides divisible by 8', () => {
    const { params, notes } = plan({ width: 100, height: 20 });
    expect([params.width, params.height]).toEqual([96, 64]);
    expect(notes).toEqual(['The picture is 96×64.']);
  });

  test('distilled models get guidance instead of cfg_scale, and no negative prompt', () => {
    const { params, notes } = plan({ guidance: 3, negativePrompt: 'x' }, nothing, { family: 'flux' });
    expect(params).toMatchObject({ cfg_scale: 1, guidance: 3 });
    expect(notes).toEqual(['The model knows no negative prompt.']);
  });

  test('tile large pictures, unless the flag is 0', () => {
    const tiled = (width: number, tiledFrom: number) =>
      plan({ width, height: 512 }, nothing, { tiledFrom }).params.vae_tiling;
    expect([tiled(512, 512), tiled(576, 512), tiled(4096, 0)]).toEqual([false, true, false]);
  });
});

describe('paintPlan: notes', () => {
  test('unknown samplers and schedulers', () => {
    const { params, notes } = plan({ sampler: 'unipc', scheduler: 'turbo' });
    expect(params).toMatchObject({ sampling_method: 'euler_a' });
    expect(notes).toEqual([
      'There is no sampler "unipc"; euler_a was taken.',
      'There is no scheduler "turbo"; discrete was taken.',
    ]);
  });

  test('masks', () => {
    expect(plan({}, { initial: true, mask: true }).notes[0]).toMatch(/^The engine has no mask of its own/);
    expect(plan({}, { initial: false, mask: true }).notes[0]).toMatch(/^There is no initial picture/);
  });

  test('missing previews', () => {
    expect(plan({ previewEvery: 4 }).notes).toEqual(['The engine shows no pictures on the way.']);
  });
});

describe('paintPlan: strength', () => {
  const given = { initial: true, mask: false };

  test('determines the steps', () => {
    const steps = (strength: number) => plan({ steps: 10, strength }, given).steps;
    expect([steps(1), steps(0.6), steps(0.25), steps(0)]).toEqual([10, 6, 2, 0]);
    expect(plan({ strength: 0.4 }, given).params.strength).toBe(0.4);
    expect(plan({ strength: 0.4 }).params).not.toHaveProperty('strength');
  });

  test('0 leaves the picture unchanged', () => {
    expect([plan({ strength: 0 }, given).untouched, plan({ strength: 0 }).untouched]).toEqual([true, false]);
  });
});

test('loadReason: says what to do', () => {
  const said = 'SdModel::load() failed -- could not create stable-diffusion context. Check backend, params_backend';
  expect(loadReason(new Error(said))).toMatch(/^the engine could make no model of it.*--sdvae/);
  expect(loadReason(new Error('no such file'))).toBe('no such file');
  expect(loadReason('odd')).toBe('odd');
});
