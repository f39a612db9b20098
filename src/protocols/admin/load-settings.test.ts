import { expect, test } from 'vitest';
import type { LoadSettings, LoadStatus, ModelSwap } from '../../core/models-view.ts';
import type { TextModel } from '../../core/text-service.ts';
import type { Call } from '../../http/call.ts';
import { loadSettingsEndpoints } from './load-settings.ts';

const known = { contextSize: 8192, trainedContext: 32_768, layers: { all: 29, onGpus: 12 } } as TextModel;
const status: LoadStatus = {
  model: 'mini',
  settings: { contextsize: 8192, gpulayers: null, quantkv: null, flashattention: null },
  pending: false,
  failure: undefined,
  known,
  quantkv: 'f16',
  flashattention: true,
};

function world(own: Partial<LoadStatus> = {}, refusal?: string, saveConfig = async () => '/m/mini.kcpps') {
  const changes: Partial<LoadSettings>[] = [];
  const change = async (settings: Partial<LoadSettings>) => {
    changes.push(settings);
    return refusal;
  };
  const load = { status: () => ({ ...status, ...own }), change, saveConfig, preparedAt: () => undefined };
  const swap = { load } as Partial<ModelSwap> as ModelSwap;
  const endpoints = loadSettingsEndpoints({ enabled: true, password: 'key' }, swap.load);
  const ask = async (method: string, body: unknown = {}, authorization = 'Bearer key', name = 'load_settings') => {
    const call = { headers: { authorization }, body: Buffer.from(JSON.stringify(body)) } as unknown as Call;
    const reply = await endpoints.find((one) => one.method === method && one.path.endsWith(name))?.handle(call, {});
    if (!reply || !('body' in reply)) throw new Error('no reply');
    return JSON.parse(String(reply.body));
  };
  return { ask, changes };
}

test('GET: the settings, and what is in use', async () => {
  expect(await world().ask('GET')).toEqual({
    model: 'mini',
    contextsize: 8192,
    gpulayers: null,
    quantkv: null,
    flashattention: null,
    pending: false,
    error: null,
    in_use: {
      context: 8192,
      trained_context: 32_768,
      layers: 29,
      gpu_layers: 12,
      quantkv: 'f16',
      flashattention: true,
    },
  });
});

test('GET: why the last change failed, and nothing of a model that was never loaded', async () => {
  const answer = await world({ failure: 'no memory', known: undefined, model: undefined }).ask('GET');
  expect(answer).toMatchObject({ error: 'no memory', model: null, in_use: { context: null, gpu_layers: null } });
});

test('POST: changes what is named, and null is automatic', async () => {
  const { ask, changes } = world();
  expect(await ask('POST', { contextsize: null, quantkv: 'q8_0' })).toEqual({ success: true });
  expect(changes).toEqual([{ contextsize: null, quantkv: 'q8_0' }]);
});

test('POST: refuses invalid settings and models that cannot be loaded again, in a sentence', async () => {
  const { ask, changes } = world();
  expect(await ask('POST', { contextsize: 5 })).toEqual({
    success: false,
    error: 'Context size needs a whole number from 256 to 524288.',
  });
  expect(changes).toEqual([]);
  expect(await world({}, 'There is none.').ask('POST')).toEqual({ success: false, error: 'There is none.' });
});

test('save_config: the path of the config, or why there is none', async () => {
  const save = (own?: () => Promise<string>) => world({}, undefined, own).ask('POST', {}, 'Bearer key', 'save_config');
  expect(await save()).toEqual({ success: true, path: '/m/mini.kcpps' });
  expect(await save(() => Promise.reject(new Error('the disk is full')))).toEqual({
    success: false,
    error: 'The config could not be saved: the disk is full.',
  });
  await expect(world().ask('POST', {}, 'Bearer other', 'save_config')).rejects.toMatchObject({ code: 'admin-only' });
});

test('GET and POST: administrators only', async () => {
  const { ask } = world();
  for (const method of ['GET', 'POST'])
    await expect(ask(method, {}, 'Bearer other')).rejects.toMatchObject({ code: 'admin-only' });
});
