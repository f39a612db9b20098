import { describe, expect, test } from 'vitest';
import { knownLoras, withoutLoraTags } from './lora-tags.ts';

describe('withoutLoraTags', () => {
  test('removes the tags and returns them', () => {
    expect(withoutLoraTags('a boat <lora:film:0.8>, at sea <lyco:x>')).toEqual({
      prompt: 'a boat, at sea',
      loras: [
        { name: 'film', weight: 0.8 },
        { name: 'x', weight: 1 },
      ],
    });
  });

  test('leaves a prompt without tags unchanged', () => {
    const prompt = 'a  boat < 3 , <b>bold</b> <lora>';
    expect(withoutLoraTags(prompt)).toEqual({ prompt, loras: [] });
  });

  test('takes linear time', () => {
    expect(withoutLoraTags('<lora:'.repeat(20_000)).loras).toEqual([]);
  });
});

describe('knownLoras', () => {
  const facts = { loras: [{ name: 'film', file: 'film.safetensors' }] };

  test('finds LoRAs by name or file, ignoring case', () => {
    const asked = [
      { name: 'Film', weight: 0.5 },
      { name: 'film.safetensors', weight: 1 },
    ];
    expect(knownLoras(asked, facts)).toEqual({ loras: asked, notes: [] });
  });

  test('has a note for each unknown LoRA', () => {
    expect(knownLoras([{ name: 'fog', weight: 1 }], facts)).toEqual({ notes: ['There is no LoRA fog'] });
    expect(knownLoras([{ name: 'film', weight: 1 }], {})).toEqual({ notes: ['There is no LoRA film'] });
  });

  test('withoutLoraTags: reads the first weight, and 1 if it is invalid', () => {
    const weights = (prompt: string) => withoutLoraTags(prompt).loras.map(({ weight }) => weight);
    expect(weights('<lora:a:-0.5:2> <lora:b:x> <lora:c> <lora:d:0>')).toEqual([-0.5, 1, 1, 0]);
  });
});
