import { describe, expect, test } from 'vitest';
import { usualSettings, withSettings } from './settings.ts';

describe('settings for all that follows', () => {
  test('numbers may come as texts, as sliders send them', () => {
    expect(withSettings(usualSettings, { speed: '1.5', temperature: '0.3', top_k: '7' })).toEqual({
      ...usualSettings,
      speed: 1.5,
      temperature: 0.3,
      top_k: 7,
    });
  });

  test('what was not sent, or is no number, stays', () => {
    const set = withSettings(usualSettings, { speed: 2 });
    expect(withSettings(set, { temperature: 'hot', speed: null, top_p: {} })).toEqual(set);
  });

  test('values beyond the limits are moved into them', () => {
    const set = withSettings(usualSettings, { speed: 9, temperature: -1, top_k: 1000, stream_chunk_size: 1 });
    expect(set).toMatchObject({ speed: 2, temperature: 0.01, top_k: 100, stream_chunk_size: 20 });
  });

  test.each([
    [true, true],
    ['false', false],
    ['0', false],
    [1, true],
    ['maybe', true],
    [undefined, true],
  ])('a switch %j is %j', (sent, kept) => {
    expect(withSettings(usualSettings, { enable_text_splitting: sent }).enable_text_splitting).toBe(kept);
  });

  test('nothing else is kept', () => {
    expect(withSettings(usualSettings, { admin: true, __proto__: 1 })).toEqual(usualSettings);
  });
});
