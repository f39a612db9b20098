import { describe, expect, test } from 'vitest';
import type { Family } from './checkpoint.ts';
import { diffusionFacts } from './facts.ts';
import { nameOfFile } from './file-name.ts';

const facts = (family: Family, more = {}) =>
  diffusionFacts({ path: '/m/dream.safetensors', family, loras: [], ...more });

test('a file goes by its name without the ending', () => {
  expect(['/a/b.safetensors', 'x.GGUF', 'old.ckpt', 'v1.5.pth', 'plain'].map(nameOfFile)).toEqual([
    'b',
    'x',
    'old',
    'v1.5',
    'plain',
  ]);
});

describe('what is known of a model without loading it', () => {
  test('its name and file', () => {
    expect(facts('sd1')).toMatchObject({ name: 'dream', title: 'dream', path: '/m/dream.safetensors', loras: [] });
  });

  test('the size and the guidance that suit its family', () => {
    const of = (family: Family) => [facts(family).nativeSize, facts(family).defaults.guidance];
    expect([of('sd1'), of('sd2'), of('sdxl'), of('flux')]).toEqual([
      [512, 7],
      [768, 7],
      [1024, 7],
      [1024, 3.5],
    ]);
  });

  test('its own sampler first: those that follow a flow know no ancestral one', () => {
    expect([facts('sd1').samplers[0], facts('flux').samplers[0], facts('sd3').samplers[0]]).toEqual([
      'euler_a',
      'euler',
      'euler',
    ]);
    expect([...facts('flux').samplers].sort()).toEqual([...facts('sd1').samplers].sort());
  });

  test("a person's upscaler beside those that are built in, its LoRAs and its VAE without their places", () => {
    const own = facts('sd1', {
      upscaler: '/up/4x-Ultra.pth',
      vae: '/v/soft.safetensors',
      loras: [{ name: 'film', path: '/l/film.gguf' }],
    });
    expect(own.upscalers.at(-1)).toEqual({ name: '4x-Ultra', scale: 4 });
    expect(own.upscalers.map(({ name }) => name)).toContain('ESRGAN-slim 2x');
    expect(own).toMatchObject({ vae: 'soft.safetensors', loras: [{ name: 'film', file: 'film.gguf' }] });
  });
});
