import { expect, test } from 'vitest';
import { fakePage, skipPauses } from '../testing/page.ts';
import { contextLine, layersLine } from './load-texts.ts';

const automatic = { contextsize: null, gpulayers: null, quantkv: null, flashattention: null };

async function change(posted: object, states: readonly object[]) {
  skipPauses();
  const left = [...states];
  fakePage({ 'api/admin/load_settings': (body: object) => ('quantkv' in body ? posted : left.shift()) });
  const { changeLoad } = await import('./load-settings.ts');
  return changeLoad(automatic);
}

test('changeLoad: resolves when the model is loaded', async () => {
  const states = [
    { pending: true, error: null },
    { pending: true, error: null },
    { pending: false, error: null, model: 'a' },
  ];
  expect(await change({ success: true }, states)).toMatchObject({ model: 'a' });
});

test('changeLoad: rejects with the reason of a refusal, or of a load that failed', async () => {
  await expect(change({ success: false, error: 'Too small.' }, [])).rejects.toThrow('Too small.');
  const states = [
    { pending: true, error: null },
    { pending: false, error: 'no memory' },
  ];
  await expect(change({ success: true }, states)).rejects.toThrow('no memory');
});

test('contextLine and layersLine: what is in use, as far as it is known', () => {
  const nothing = { context: null, trained_context: null, layers: null, gpu_layers: null };
  const common = { quantkv: 'f16', flashattention: true };
  expect(contextLine({ ...nothing, ...common })).toBe('');
  expect(layersLine({ ...nothing, ...common })).toBe('');
  const loaded = { context: 8192, trained_context: 32_768, layers: 29, gpu_layers: 12, ...common };
  expect(contextLine(loaded)).toBe('Now 8,192, trained for 32,768');
  expect(layersLine(loaded)).toBe('Now 12 of 29');
});
