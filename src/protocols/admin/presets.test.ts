import { expect, test } from 'vitest';
import type { PresetSettings, PresetStore } from '../../core/models-view.ts';
import type { Call } from '../../http/call.ts';
import { presetEndpoints } from './presets.ts';

function world() {
  const saved: [string, PresetSettings][] = [];
  const presets: PresetStore = {
    create: async () => undefined,
    list: async () => [{ name: 'terse', base: 'qwen3', settings: { systemprompt: 'Be brief.' }, problem: undefined }],
    save: async (name, preset) => {
      if (name === 'qwen3') throw new Error('qwen3 is a model already');
      saved.push([name, preset]);
      return name;
    },
    remove: async (name) => name === 'terse',
  };
  const endpoints = presetEndpoints({ access: { enabled: true, password: 'key' }, presets });
  const ask = async (method: string, path: string, body: unknown = {}, authorization = 'Bearer key') => {
    const call = { headers: { authorization }, body: Buffer.from(JSON.stringify(body)) } as unknown as Call;
    const reply = await endpoints.find((one) => one.method === method && one.path.endsWith(path))?.handle(call, {});
    if (!reply || !('body' in reply)) throw new Error('no reply');
    return JSON.parse(String(reply.body));
  };
  return { ask, saved };
}

test('presets: lists, saves and deletes them for administrators', async () => {
  const { ask, saved } = world();
  expect(await ask('GET', 'presets')).toEqual({
    presets: [{ name: 'terse', base: 'qwen3', settings: { systemprompt: 'Be brief.' }, problem: null }],
  });
  const settings = { gendefaults: { temperature: 0 } };
  expect(await ask('POST', 'presets', { name: 'cold', settings })).toEqual({ success: true, name: 'cold' });
  expect(saved).toEqual([['cold', { base: undefined, settings, replace: false }]]);
  expect(await ask('POST', 'presets/delete', { name: 'terse' })).toEqual({ success: true });
});

test('presets: what cannot be saved or deleted is a sentence', async () => {
  const { ask } = world();
  const refused = { success: false, error: 'qwen3 is a model already.' };
  expect(await ask('POST', 'presets', { name: 'qwen3', settings: {} })).toEqual(refused);
  const missing = { success: false, error: 'There is no preset other.' };
  expect(await ask('POST', 'presets/delete', { name: 'other' })).toEqual(missing);
  await expect(ask('POST', 'presets', { name: 'cold' })).rejects.toMatchObject({ code: 'invalid-field' });
});

test('presets: refuses others', async () => {
  const { ask } = world();
  for (const [method, path] of [
    ['GET', 'presets'],
    ['POST', 'presets'],
    ['POST', 'presets/delete'],
  ] as const)
    await expect(ask(method, path, { name: 'terse' }, 'Bearer other')).rejects.toMatchObject({ code: 'admin-only' });
});
