import { describe, expect, test } from 'vitest';
import { withoutLoraTags } from './lora-tags.ts';

describe('tags of networks in a prompt', () => {
  test('are taken out of it and named', () => {
    expect(withoutLoraTags('a boat <lora:film:0.8>, at sea <lyco:x>')).toEqual({
      prompt: 'a boat, at sea',
      names: ['film', 'x'],
    });
  });

  test('leave a prompt without them as it is', () => {
    const prompt = 'a  boat < 3 , <b>bold</b> <lora>';
    expect(withoutLoraTags(prompt)).toEqual({ prompt, names: [] });
  });

  test('cost no more than a look at each character', () => {
    expect(withoutLoraTags('<lora:'.repeat(20_000)).names).toEqual([]);
  });
});
