import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

async function presets() {
  fakePage({});
  return import('./presets.ts');
}

test('memoryOf: a preset turns memory on, off, or leaves it to its base', async () => {
  const { memoryOf } = await presets();
  expect([true, false, null, undefined].map(memoryOf)).toEqual(['on', 'off', '', '']);
});

test('presetSettings: what is left to the server or the model is left out, and a short reply length is kept', async () => {
  const { presetSettings, presetSummary } = await presets();
  const none = { fields: {}, stops: [], replyLength: Number.NaN, effort: '' };
  expect(presetSettings(none)).toEqual({});
  expect(presetSettings({ ...none, replyLength: 8, effort: 'low' })).toEqual({
    defaultgenamt: 8,
    reasoningeffort: 'low',
  });
  expect(presetSummary({ defaultgenamt: 8 })).toBe('reply length 8');
});
