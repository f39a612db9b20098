import { expect, test } from 'vitest';
import { BackendConnection } from '../connection.ts';
import { titleOf } from '../kinds.ts';
import { json, upstream } from '../testing/upstream.ts';
import { identifyImageServer } from './identify.ts';

async function identified(handlers: Parameters<typeof upstream>[0], kind?: 'a1111' | 'comfyui') {
  const one = await upstream(handlers);
  const connection = new BackendConnection({ base: one.base, host: one.host, key: undefined });
  return { one, identity: identifyImageServer(connection, kind) };
}

const loader = { CheckpointLoaderSimple: { input: { required: { ckpt_name: [['m.ckpt']] } } } };

test('identifyDrawing: a list of samplers means A1111', async () => {
  const { identity, one } = await identified({ '/sdapi/v1/samplers': json([]) });
  expect(await identity).toMatchObject({ kind: 'a1111', imageServer: { facts: { samplers: ['Euler a'] } } });
  expect(one.asked('/sdapi/v1/options')).toHaveLength(1);
});

test('identifyDrawing: sd-server is told from A1111 by its list of models', async () => {
  const samplers = { '/sdapi/v1/samplers': json([]) };
  const recorded = { data: [{ id: 'sd-cpp-local', object: 'model', owned_by: 'local' }] };
  const { identity } = await identified({ ...samplers, '/v1/models': json(recorded) });
  expect(titleOf(await identity)).toBe('sd-server');
  const other = await identified({ ...samplers, '/v1/models': json({ data: [{ id: 'dream' }] }) });
  expect(titleOf(await other.identity)).toBe('A1111');
});

test('identifyDrawing: nodes mean ComfyUI', async () => {
  const { identity } = await identified({
    '/object_info/KSampler': json({ KSampler: {} }),
    '/object_info/CheckpointLoaderSimple': json(loader),
  });
  expect(await identity).toMatchObject({ kind: 'comfyui', models: [{ name: 'm' }] });
});

test('identifyDrawing: rejects a server that has neither', async () => {
  const { identity } = await identified({ '/object_info/KSampler': json({}) });
  await expect(identity).rejects.toThrow('is no image server that is known here');
});

test('identifyDrawing: does not probe a configured kind', async () => {
  const { identity, one } = await identified({ '/object_info/CheckpointLoaderSimple': json(loader) }, 'comfyui');
  await identity;
  expect(one.received.map(({ path }) => path)).not.toContain('/sdapi/v1/samplers');
});

test('identifyDrawing: reports a missing key, and ignores redirects', async () => {
  const locked = await identified({ '/sdapi/v1/samplers': json({}, 401) });
  await expect(locked.identity).rejects.toMatchObject({ facts: { status: 401 } });
  const moved = await identified({
    '/sdapi/v1/samplers': (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  });
  await expect(moved.identity).rejects.toThrow('is no image server');
});
