import { describe, expect, test } from 'vitest';
import { defaultSettings, withSettings } from './settings.ts';

describe('withSettings', () => {
  test('reads numbers from strings', () => {
    expect(withSettings(defaultSettings, { speed: '1.5', temperature: '0.3', top_k: '7' })).toEqual({
      ...defaultSettings,
      speed: 1.5,
      temperature: 0.3,
      top_k: 7,
    });
  });

  test('keeps the value of settings that are missing or no numbers', () => {
    const set = withSettings(defaultSettings, { speed: 2 });
    expect(withSettings(set, { temperature: 'hot', speed: null, top_p: {} })).toEqual(set);
  });

  test('limits values', () => {
    const set = withSettings(defaultSettings, { speed: 9, temperature: -1, top_k: 1000, stream_chunk_size: 1 });
    expect(set).toMatchObject({ speed: 2, temperature: 0.01, top_k: 100, stream_chunk_size: 20 });
  });

  test.each([
    [true, true],
    ['false', false],
    ['0', false],
    [1, true],
    ['maybe', true],
    [undefined, true],
  ])('reads a switch %j as %j', (sent, kept) => {
    expect(withSettings(defaultSettings, { enable_text_splitting: sent }).enable_text_splitting).toBe(kept);
  });

  test('ignores unknown settings', () => {
    expect(withSettings(defaultSettings, { admin: true, __proto__: 1 })).toEqual(defaultSettings);
  });
});
