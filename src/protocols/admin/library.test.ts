import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { ModelDownloads } from '../../core/model-downloads.ts';
import type { TextState } from '../../core/text-service.ts';
import type { Call } from '../../http/call.ts';
import { deletionEndpoint, downloadEndpoints } from './library.ts';

function world() {
  const asked: string[] = [];
  const found = (what: string) => async (model: string) => {
    asked.push(`${what} ${model}`);
    return model === 'acme/foo';
  };
  const downloads: ModelDownloads = {
    list: async () => [
      {
        model: 'acme/foo',
        state: 'running',
        doneBytes: 5,
        totalBytes: undefined,
        bytesPerSecond: 2,
        reason: undefined,
        path: undefined,
      },
    ],
    start: async (model) => ((await found('start')(model)) ? model : undefined),
    stop: found('stop'),
    remove: found('remove'),
  };
  const remove = async (filename: string, loaded: readonly string[]) => {
    if (filename === 'b.gguf') throw new Error('b.gguf is loaded.');
    asked.push(`delete ${filename} beside ${loaded}`);
  };
  const listed = (state: 'ready' | 'unloaded', path: string) => ({
    name: path,
    id: path,
    present: false,
    state,
    path,
    expiresAt: 0,
  });
  const models = { list: async () => [listed('ready', '/m/b.gguf'), listed('unloaded', '/m/c.gguf')] };
  const access = { enabled: true, password: 'key' };
  const services = { access, library: async () => ({ downloads, remove }), models };
  const endpoints = [...downloadEndpoints(services), deletionEndpoint(services)];
  const text = { state: () => ({ type: 'ready', model: { path: '/m/a.gguf' } }) as TextState };
  const ask = async (method: string, path: string, body?: object, authorization = 'Bearer key') => {
    const endpoint = endpoints.find((one) => one.method === method && one.path === path);
    const call = { headers: { authorization }, body: Buffer.from(JSON.stringify(body ?? {})) } as unknown as Call;
    const reply = await endpoint?.handle(call, { text } as Parameters<NonNullable<typeof endpoint>['handle']>[1]);
    if (!reply || !('body' in reply)) throw new Error('no reply');
    return JSON.parse(String(reply.body));
  };
  return { ask, asked };
}

test('GET /api/admin/downloads: lists the downloads, unknown values are null', async () => {
  expect(await world().ask('GET', '/api/admin/downloads')).toEqual({
    downloads: [
      {
        model: 'acme/foo',
        state: 'running',
        done_bytes: 5,
        total_bytes: null,
        bytes_per_second: 2,
        reason: null,
        path: null,
      },
    ],
  });
});

test('POST /api/admin/downloads: starts, stops and removes a download', async () => {
  const { ask, asked } = world();
  const model = 'acme/foo';
  expect(await ask('POST', '/api/admin/downloads', { model })).toEqual({ success: true, model });
  expect(await ask('POST', '/api/admin/downloads/stop', { model })).toEqual({ success: true });
  expect(await ask('POST', '/api/admin/downloads/remove', { model })).toEqual({ success: true });
  expect(asked).toEqual(['start acme/foo', 'stop acme/foo', 'remove acme/foo']);
});

test('POST /api/admin/downloads: says what is wrong', async () => {
  const { ask } = world();
  const start = await ask('POST', '/api/admin/downloads', { model: 'foo' });
  expect(start).toMatchObject({ success: false, error: expect.stringContaining('not the name of a model') });
  const stop = await ask('POST', '/api/admin/downloads/stop', { model: 'foo' });
  expect(stop).toEqual({ success: false, error: 'There is no such download.' });
  await expect(ask('POST', '/api/admin/downloads', {})).rejects.toThrow('model');
});

test('POST /api/admin/models/delete: deletes a model unless it is loaded', async () => {
  const { ask, asked } = world();
  const path = '/api/admin/models/delete';
  expect(await ask('POST', path, { filename: 'c.gguf' })).toEqual({ success: true });
  expect(asked).toEqual(['delete c.gguf beside /m/b.gguf,/m/a.gguf']);
  expect(await ask('POST', path, { filename: 'b.gguf' })).toEqual({ success: false, error: 'b.gguf is loaded.' });
  await expect(ask('POST', path, { filename: 'c.gguf' }, '')).rejects.toThrow(AppError);
});

test('downloads: are for administrators only', async () => {
  const { ask, asked } = world();
  await expect(ask('GET', '/api/admin/downloads', undefined, '')).rejects.toThrow(AppError);
  await expect(ask('POST', '/api/admin/downloads', { model: 'acme/foo' }, '')).rejects.toThrow(AppError);
  expect(asked).toEqual([]);
});
