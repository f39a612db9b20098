import { describe, expect, test } from 'vitest';
import type { ImageRequest } from '../../../core/image.ts';
import { imageRequest } from '../testing/request.ts';
import type { Family } from './checkpoint.ts';
import { diffusionFacts } from './facts.ts';
import { paintPlan } from './plan.ts';

const nothing = { initial: false, mask: false };

function plan(
  changes: Partial<ImageRequest> = {},
  given = nothing,
  more: { family?: Family; tiledFrom?: number } = {},
) {
  const family = more.family ?? 'sd1';
  const facts = diffusionFacts({ path: '/m.gguf', family, loras: [] });
  const options = { facts, family, loras: { fixed: [], offered: [] }, tiledFrom: more.tiledFrom ?? 512 };
  return paintPlan(imageRequest({ sampler: '', scheduler: '', ...changes }), given, options);
}

describe('what the driver is told', () => {
  test('has all that was asked for, by its names', () => {
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

  test("leaves the model's own schedule to it", () => {
    expect(plan().params).not.toHaveProperty('scheduler');
    expect(plan({ scheduler: 'discrete' }).params).not.toHaveProperty('scheduler');
    expect(plan().params.sampling_method).toBe('euler_a');
  });

  test('is never without a word, since that is refused there', () => {
    expect(plan({ prompt: '' }).params.prompt).toBe(' ');
  });

  test('has sides that the network can halve', () => {
    const { params, notes } = plan({ width: 100, height: 20 });
    expect([params.width, params.height]).toEqual([96, 64]);
    expect(notes).toEqual(['The picture is 96×64.']);
  });

  test('has another kind of guidance for models that learnt it, which know no negative prompt', () => {
    const { params, notes } = plan({ guidance: 3, negativePrompt: 'x' }, nothing, { family: 'flux' });
    expect(params).toMatchObject({ cfg_scale: 1, guidance: 3 });
    expect(notes).toEqual(['The model knows no negative prompt.']);
  });

  test('decodes large pictures in tiles, and none with 0', () => {
    const tiled = (width: number, tiledFrom: number) =>
      plan({ width, height: 512 }, nothing, { tiledFrom }).params.vae_tiling;
    expect([tiled(512, 512), tiled(576, 512), tiled(4096, 0)]).toEqual([false, true, false]);
  });
});

describe('what is told about it', () => {
  test('names that the engine does not have', () => {
    const { params, notes } = plan({ sampler: 'unipc', scheduler: 'turbo' });
    expect(params).toMatchObject({ sampling_method: 'euler_a' });
    expect(notes).toEqual([
      'There is no sampler "unipc"; euler_a was taken.',
      'There is no scheduler "turbo"; discrete was taken.',
    ]);
  });

  test('how a mask is done, and that one alone means nothing', () => {
    expect(plan({}, { initial: true, mask: true }).notes[0]).toMatch(/^The engine has no mask of its own/);
    expect(plan({}, { initial: false, mask: true }).notes[0]).toMatch(/^There is no initial picture/);
  });

  test('that there is nothing to see on the way', () => {
    expect(plan({ previewEvery: 4 }).notes).toEqual(['The engine shows no pictures on the way.']);
  });
});

describe('beginning from a picture', () => {
  const given = { initial: true, mask: false };

  test('takes as many steps as its strength leaves', () => {
    const steps = (strength: number) => plan({ steps: 10, strength }, given).steps;
    expect([steps(1), steps(0.6), steps(0.25), steps(0)]).toEqual([10, 6, 2, 0]);
    expect(plan({ strength: 0.4 }, given).params.strength).toBe(0.4);
    expect(plan({ strength: 0.4 }).params).not.toHaveProperty('strength');
  });

  test('with no strength leaves it as it is', () => {
    expect([plan({ strength: 0 }, given).untouched, plan({ strength: 0 }).untouched]).toEqual([true, false]);
  });
});
