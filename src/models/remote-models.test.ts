import { describe, expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import { json, listed, upstream, wellVllm } from '../engines/remote/testing/upstream.ts';
import type { Terminal } from '../observe/terminal.ts';
import { inProcessEditor } from '../protocols/testing/pictures.ts';
import { hasText } from './prepared-model.ts';
import { firstLook, prepareRemote, remoteOffers, servesRemote, textPool } from './remote-models.ts';
import { remoteTask } from './remote-tasks.ts';

const terminal = { line: () => undefined } as unknown as Terminal;
const given = new Set<never>();

async function wantedOn(...addresses: readonly string[]) {
  const settings = { ...defaultSettings, remote: addresses, contextsize: 1000 };
  const pool = textPool(settings, terminal);
  if (!pool) throw new Error('no pool');
  await firstLook(pool);
  return { settings, given, pool };
}

test('servesRemote: with a remote address and no model file', () => {
  const remote = ['http://a:1'];
  expect(servesRemote({ remote, model: null, nomodel: false })).toBe(true);
  expect(servesRemote({ remote, model: ['m.gguf'], nomodel: false })).toBe(false);
  expect(servesRemote({ remote, model: null, nomodel: true })).toBe(true);
  expect(servesRemote({ remote, model: ['m.gguf'], nomodel: true })).toBe(true);
  expect(servesRemote({ remote: ['http://a:1,for=images'], model: null, nomodel: false })).toBe(false);
  expect(textPool({ remote: null }, terminal)).toBeUndefined();
});

describe('prepareRemote', () => {
  test('is registered under its name, needs no memory and is never evicted', async () => {
    const one = await upstream(wellVllm);
    const wanted = await wantedOn(one.base);
    const model = await prepareRemote({ ...wanted, model: 'model-8b' }, terminal);
    expect(model).toMatchObject({
      name: 'model-8b',
      file: undefined,
      spec: { kind: 'text', auxiliary: true, pinned: true },
    });
    expect(hasText(model)).toBe(true);
    expect(await model.spec.need()).toBe(0);
    expect(model.remote?.names).toEqual(['org/model-8b']);
    expect(model.remote?.capacity()).toBe(64);
    expect(model.known()).toBeUndefined();
    const lifecycle = model.spec.make();
    lifecycle.start();
    await lifecycle.settled();
    expect(lifecycle.state()).toEqual({ type: 'ready' });
    expect(lifecycle.bytes()).toBeUndefined();
    expect(model.known()).toMatchObject({ type: 'ready', model: { name: 'model-8b', contextSize: 4096 } });
    await lifecycle.stop();
    wanted.pool.stop();
  });

  test('is named by its host until the backend reports a name', async () => {
    const one = await upstream({});
    const wanted = await wantedOn(one.base);
    const model = await prepareRemote({ ...wanted, model: wanted.pool.models()[0]?.name }, terminal);
    expect(model.name).toBe(one.host);
    wanted.pool.stop();
  });

  test('is selectable by its local and its remote name', async () => {
    const one = await upstream(wellVllm);
    const other = await upstream({ '/v1/models': listed.openai });
    const wanted = await wantedOn(one.base, other.base);
    const offers = remoteOffers(wanted, terminal);
    expect(offers().map(({ names }) => names)).toEqual([['model-8b', 'org/model-8b'], ['model-x']]);
    expect(await offers()[1]?.prepare('model-x')).toMatchObject({ name: 'model-x', contextSize: 1000 });
    // Where a model of this machine has that name already.
    expect(await offers()[1]?.prepare('remote/model-x')).toMatchObject({ name: 'remote/model-x', contextSize: 1000 });
    wanted.pool.stop();
  });
});

describe('remote task models', () => {
  const settings = {
    ...defaultSettings,
    remote: ['http://a:1,for=embeddings,model=org/bge,parallel=5', 'http://b:1,for=images'],
  };

  test('have the names of the flags and their concurrency', () => {
    expect(remoteTask('embedding', settings, terminal)).toMatchObject({
      given: true,
      spec: { name: 'bge', kind: 'embedding' },
    });
    expect(remoteTask('embedding', settings, terminal)?.concurrency?.()).toBe(5);
    expect(remoteTask('image', settings, terminal)).toMatchObject({
      spec: { name: 'b:1', kind: 'image' },
    });
    expect(remoteTask('image', settings, terminal)?.engine.facts()).toMatchObject({ name: 'b:1' });
    expect(remoteTask('embedding', defaultSettings, terminal)).toBeUndefined();
    expect(remoteTask('image', defaultSettings, terminal)).toBeUndefined();
  });

  test('have the same interface as local ones', async () => {
    const vectors = json({ data: [{ embedding: [1, 2] }], usage: { prompt_tokens: 2 } });
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const one = await upstream({
      ...wellVllm,
      '/v1/embeddings': vectors,
      '/v1/images/generations': json({ data: [{ b64_json: png }] }),
    });
    const own = { ...defaultSettings, remote: [`${one.base},for=embeddings`, `${one.base},for=images`] };
    const never = new AbortController().signal;

    const embedding = remoteTask('embedding', own, terminal)?.spec.make();
    embedding?.start();
    await embedding?.settled();
    expect((await embedding?.engine.embed({ inputs: ['a'], truncate: true }, never))?.tokens).toEqual([2]);
    await embedding?.stop();

    const image = remoteTask('image', own, terminal, inProcessEditor)?.spec.make();
    image?.start();
    await image?.settled();
    const request = { prompt: 'x', negativePrompt: '', width: 8, height: 8, steps: 1, guidance: 1, sampler: 'default' };
    const rest = { scheduler: 'default', seed: 1, count: 1, clipSkip: 0, strength: 0, previewEvery: 0 };
    const told: string[] = [];
    for await (const event of image?.engine.generate({ ...request, ...rest }, never) ?? []) {
      told.push(event.type === 'finish' ? `${event.width}x${event.height}` : event.type);
    }
    expect(told).toEqual(['progress', 'image', '1x1']);
    await image?.stop();
  });
});
