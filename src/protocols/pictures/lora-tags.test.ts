import { describe, expect, test } from 'vitest';
import { knownLoras, withoutLoraTags } from './lora-tags.ts';

describe('tags of networks in a prompt', () => {
  test('are taken out of it and named', () => {
    expect(withoutLoraTags('a boat <lora:film:0.8>, at sea <lyco:x>')).toEqual({
      prompt: 'a boat, at sea',
      loras: [
        { name: 'film', weight: 0.8 },
        { name: 'x', weight: 1 },
      ],
    });
  });

  test('leave a prompt without them as it is', () => {
    const prompt = 'a  boat < 3 , <b>bold</b> <lora>';
    expect(withoutLoraTags(prompt)).toEqual({ prompt, loras: [] });
  });

  test('cost no more than a look at each character', () => {
    expect(withoutLoraTags('<lora:'.repeat(20_000)).loras).toEqual([]);
  });
});

describe('networks that a request asks for', () => {
  const facts = { loras: [{ name: 'film', file: 'film.safetensors' }] };

  test('are those of the model, by their name or their file, whatever the case', () => {
    const asked = [
      { name: 'Film', weight: 0.5 },
      { name: 'film.safetensors', weight: 1 },
    ];
    expect(knownLoras(asked, facts)).toEqual({ loras: asked, notes: [] });
  });

  test('and the others are told', () => {
    expect(knownLoras([{ name: 'fog', weight: 1 }], facts)).toEqual({ notes: ['There is no LoRA fog'] });
    expect(knownLoras([{ name: 'film', weight: 1 }], {})).toEqual({ notes: ['There is no LoRA film'] });
  });

  test('have the weight that stands first, and 1 where none can be read', () => {
    const weights = (prompt: string) => withoutLoraTags(prompt).loras.map(({ weight }) => weight);
    expect(weights('<lora:a:-0.5:2> <lora:b:x> <lora:c> <lora:d:0>')).toEqual([-0.5, 1, 1, 0]);
  });
});
