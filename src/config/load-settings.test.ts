import { describe, expect, test } from 'vitest';
import { defaultSettings, type FlagKey, type Settings } from './flags.ts';
import { loadLayer, loadSettingsOf, readLoadSettings } from './load-settings.ts';

describe('readLoadSettings', () => {
  test('reads numbers, names and null, and leaves out what is missing', () => {
    expect(readLoadSettings({ contextsize: 8192, gpulayers: null, quantkv: 'q8_0', more: 1 })).toEqual({
      ok: true,
      value: { contextsize: 8192, gpulayers: null, quantkv: 'q8_0' },
    });
    expect(readLoadSettings({ flashattention: false })).toEqual({ ok: true, value: { flashattention: false } });
  });

  test.each([
    [{ contextsize: 12 }, 'Context size needs a whole number from 256 to 524288.'],
    [{ contextsize: true }, 'Context size needs a whole number from 256 to 524288.'],
    [{ gpulayers: 1.5 }, 'GPU layers needs a whole number not below -1.'],
    [{ quantkv: 'q2' }, 'KV cache type needs one of f16, bf16, q8_0, q5_1, q4_0.'],
    [{ flashattention: 'on' }, 'Flash attention needs true, false or null.'],
    [[], 'The settings must be an object.'],
  ])('%j: %s', (sent, sentence) => {
    expect(readLoadSettings(sent)).toEqual({ ok: false, expected: sentence });
  });
});

describe('loadSettingsOf', () => {
  const of = (settings: Partial<Settings>) =>
    loadSettingsOf({
      settings: { ...defaultSettings, ...settings },
      given: new Set(Object.keys(settings) as FlagKey[]),
    });

  test('null where the server chooses', () => {
    const automatic = { contextsize: null, gpulayers: null, quantkv: null, flashattention: null };
    expect(of({})).toEqual(automatic);
    expect(of({ gpulayers: 5, autofit: true })).toEqual(automatic);
  });

  test('explicit values, also those that are defaults', () => {
    const { contextsize } = defaultSettings;
    expect(of({ contextsize, gpulayers: 0, quantkv: 'f16', noflashattention: true })).toEqual({
      contextsize,
      gpulayers: 0,
      quantkv: 'f16',
      flashattention: false,
    });
  });
});

test('loadLayer: flags that are set, and null for those that get their default', () => {
  const layer = loadLayer({ contextsize: null, gpulayers: 5, flashattention: false });
  expect(Object.fromEntries(layer)).toEqual({
    contextsize: null,
    gpulayers: 5,
    autofit: null,
    noflashattention: true,
  });
  expect(Object.fromEntries(loadLayer({ gpulayers: -1, flashattention: true }))).toEqual({
    gpulayers: null,
    noflashattention: false,
  });
  expect(loadLayer({}).size).toBe(0);
});
