import { describe, expect, test } from 'vitest';
import { base64Of, imagesOf, imageUrl } from './generated-images.ts';
import { defaultSettings, defaultsOf, imageRequest, missing, parameterOf, titleOf } from './image-request.ts';

const apple = { ...defaultSettings, prompt: 'a red apple', negativePrompt: 'leaf', seed: 7, count: 2 };

describe('imageRequest', () => {
  test('sends the prompt to txt2img', () => {
    expect(imageRequest(apple, {}, 'k')).toEqual({
      path: 'sdapi/v1/txt2img',
      body: {
        prompt: 'a red apple',
        negative_prompt: 'leaf',
        width: 256,
        height: 256,
        steps: 12,
        cfg_scale: 2.5,
        seed: 7,
        batch_size: 2,
        genkey: 'k',
      },
    });
  });

  test('sends a sampler only if one is chosen', () => {
    expect(imageRequest({ ...apple, sampler: 'Heun' }, {}, 'k').body).toMatchObject({ sampler_name: 'Heun' });
  });

  test('leaves steps, guidance, sampler and scheduler to the model', () => {
    const { body } = imageRequest({ ...apple, steps: null, guidance: null }, {}, 'k');
    for (const name of ['steps', 'cfg_scale', 'sampler_name', 'scheduler', 'lora', 'enable_hr'])
      expect(body).not.toHaveProperty(name);
  });

  test('sends scheduler, LoRAs and the factor for upscaling', () => {
    const chosen = { ...apple, scheduler: 'karras', loras: [{ name: 'ink', weight: 0.8 }], enlarge: 2 };
    expect(imageRequest(chosen, {}, 'k').body).toMatchObject({
      scheduler: 'karras',
      lora: [{ name: 'ink', multiplier: 0.8 }],
      enable_hr: true,
      hr_scale: 2,
    });
  });

  test('sends a source image to img2img without a mask', () => {
    const { path, body } = imageRequest({ ...apple, manner: 'picture' }, { image: 'P', mask: 'M' }, 'k');
    expect(path).toBe('sdapi/v1/img2img');
    expect(body).toMatchObject({ init_images: ['P'], denoising_strength: 0.6 });
    expect(body).not.toHaveProperty('mask');
  });

  test('sends a mask for inpainting', () => {
    const { body } = imageRequest({ ...apple, manner: 'paint' }, { image: 'P', mask: 'M' }, 'k');
    expect(body).toMatchObject({ init_images: ['P'], mask: 'M' });
  });

  test('sends an upscale request without a prompt', () => {
    const wish = { ...apple, manner: 'upscale' as const, upscaler: 'Lanczos', factor: 3 };
    expect(imageRequest(wish, { image: 'P' }, 'k')).toEqual({
      path: 'sdapi/v1/extra-single-image',
      body: { image: 'P', upscaler_1: 'Lanczos', upscaling_resize: 3, genkey: 'k' },
    });
  });
});

test.each([
  ['words', '', {}, 'Enter a prompt.'],
  ['words', ' \n', {}, 'Enter a prompt.'],
  ['words', 'cat', {}, undefined],
  ['picture', 'cat', {}, 'Choose an input image.'],
  ['picture', 'cat', { image: 'P' }, undefined],
  ['paint', 'cat', { image: 'P' }, 'Paint over the parts to change.'],
  ['paint', 'cat', { image: 'P', mask: 'M' }, undefined],
  ['upscale', '', { image: 'P' }, undefined],
  ['upscale', '', {}, 'Choose an input image.'],
] as const)('%s with the words %j and %j lacks: %j', (manner, prompt, materials, expected) => {
  expect(missing({ ...defaultSettings, manner, prompt }, materials)).toBe(expected);
});

describe('imagesOf', () => {
  test('returns each image with its seed and parameters', () => {
    const info = JSON.stringify({ seed: 7, all_seeds: [7, 8], infotexts: ['a\nSeed: 7', 'a\nSeed: 8'] });
    expect(imagesOf({ images: ['A', 'B'], info })).toEqual([
      { image: 'A', seed: 7, parameters: 'a\nSeed: 7' },
      { image: 'B', seed: 8, parameters: 'a\nSeed: 8' },
    ]);
  });

  test('returns an upscaled image', () => {
    expect(imagesOf({ image: 'A', html_info: 'Lanczos' })).toEqual([
      { image: 'A', seed: undefined, parameters: 'Lanczos' },
    ]);
  });

  test.each([
    [{ images: ['A'], info: '{broken' }, 1],
    [{ images: ['A'], info: 'null' }, 1],
    [{ images: [1, null] }, 0],
    [{}, 0],
    [null, 0],
  ])('%j contains %i images', (answer, count) => {
    expect(imagesOf(answer)).toHaveLength(count);
  });
});

test('base64Of: removes the prefix of a data URL', () => {
  expect(base64Of('data:image/png;base64,AAAA')).toBe('AAAA');
  expect(base64Of('AAAA')).toBe('AAAA');
});

test('titleOf: returns the prompt, or a title for upscaled images', () => {
  expect(titleOf({ wish: apple })).toBe('a red apple');
  expect(titleOf({ wish: { ...apple, manner: 'upscale' } })).toBe('a red apple (upscaled)');
  expect(titleOf({ wish: { manner: 'upscale', prompt: '' } })).toBe('Upscaled image');
});

test('base64Of: reverses imageUrl', () => {
  expect(base64Of(imageUrl('AAAA'))).toBe('AAAA');
});

test.each([
  ['parley-sketch (built-in)', 256, 12],
  ['', 256, 12],
  ['v1-5-pruned.safetensors', 512, null],
  ['sd_xl_base_1.0', 1024, null],
  ['flux1-schnell', 1024, null],
])('defaultsOf: %s draws at %i with %s steps', (model, width, steps) => {
  expect(defaultsOf(model)).toMatchObject({ width, height: width, steps });
});

test('parameterOf: reads plain and quoted values', () => {
  const parameters = 'a cat, Seed: of doubt\nSteps: 20, Sampler: Euler a, Model: "x, y", Seed: 7';
  expect(parameterOf(parameters, 'Steps')).toBe('20');
  expect(parameterOf(parameters, 'Sampler')).toBe('Euler a');
  expect(parameterOf(parameters, 'Model')).toBe('x, y');
  expect(parameterOf(parameters, 'Scheduler')).toBeUndefined();
});
