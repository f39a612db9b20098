import { expect, test } from 'vitest';
import { connectRemote } from './connect.ts';

const url = 'http://draw.invalid';

/** A server that has these paths, and notes what it was asked for. */
function serving(paths: Readonly<Record<string, unknown>>) {
  const asked: string[] = [];
  const ask: typeof fetch = async (address) => {
    const path = String(address).slice(url.length);
    asked.push(path);
    return path in paths ? Response.json(paths[path]) : new Response('', { status: 404 });
  };
  return { ask, asked };
}

test('a server with samplers is one of the web UI kind', async () => {
  const { ask, asked } = serving({ '/sdapi/v1/samplers': [] });
  expect((await (await connectRemote({ url }, ask)).facts()).samplers).toEqual(['Euler a']);
  expect(asked).toContain('/sdapi/v1/options');
});

test('one with nodes is ComfyUI', async () => {
  const loader = { CheckpointLoaderSimple: { input: { required: { ckpt_name: [['m.ckpt']] } } } };
  const { ask } = serving({ '/object_info/KSampler': { KSampler: {} }, '/object_info/CheckpointLoaderSimple': loader });
  expect((await (await connectRemote({ url }, ask)).facts()).name).toBe('m');
});

test('one that has neither is told as such', async () => {
  const { ask } = serving({ '/object_info/KSampler': {} });
  await expect(connectRemote({ url }, ask)).rejects.toThrow('is no image server that is known here');
});

test('one whose kind was said is not asked for it', async () => {
  const { ask, asked } = serving({});
  await connectRemote({ url, kind: 'comfy' }, ask);
  expect(asked).toEqual([]);
});
