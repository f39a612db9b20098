import { expect, test } from 'vitest';
import { settingsOf } from './image-request.ts';

test('settingsOf: reads the names of image programs', () => {
  expect(
    settingsOf({
      Prompt: 'a cat',
      'Negative prompt': 'dog',
      Steps: '20',
      Sampler: 'Euler a',
      'Schedule type': 'Karras',
      'CFG scale': '6.5',
      Seed: '7',
      'Size-1': '512',
      'Size-2': '768',
      'Denoising strength': '0.4',
    }),
  ).toEqual({
    prompt: 'a cat',
    negativePrompt: 'dog',
    steps: 20,
    sampler: 'Euler a',
    scheduler: 'Karras',
    loras: [],
    guidance: 6.5,
    seed: 7,
    width: 512,
    height: 768,
    strength: 0.4,
  });
});

test('settingsOf: leaves to the model what is missing or no number', () => {
  expect(settingsOf({ Prompt: 'a cat', Steps: 'many', 'Schedule type': 'Automatic' })).toMatchObject({
    steps: null,
    guidance: null,
    sampler: '',
    scheduler: '',
    seed: -1,
  });
});
