import { expect, test } from 'vitest';
import type { StoredBatch } from '../batches/store.ts';
import { defaultSettings } from '../config/flags.ts';
import { AppError } from '../core/errors.ts';
import type { HeldModel, ListedModel } from '../core/models-view.ts';
import { type Call, type Endpoint, json } from '../http/call.ts';
import { endpoint as endpointOf } from '../http/testing/world.ts';
import { batchWork, lastUse } from './batch-work.ts';

const path = '/v1/chat/completions';
const batch = (own: Partial<StoredBatch> = {}) =>
  ({ endpoint: path, sender: { address: '192.0.2.1' }, ...own }) as StoredBatch;
const request = (body: object = {}) => ({ customId: 'a', body: body as Record<string, unknown> });
const turn = () => ({ signal: new AbortController().signal, giveWay: () => undefined });

const key = {
  id: 'k',
  salt: '',
  hash: '',
  created: 0,
  requests: 0,
  refused: 0,
  name: 'phone',
  scopes: ['chat'],
  weight: 2,
};

function world(
  own: Partial<Parameters<typeof batchWork>[0]> = {},
  handle: Endpoint['handle'] = () => json({ ok: true }),
) {
  const calls: Call[] = [];
  const endpoint = endpointOf(
    (call) => {
      calls.push(call);
      return handle(call);
    },
    { path, scope: 'chat' },
  );
  const work = batchWork({
    endpoints: [endpoint],
    idleMs: () => 0,
    isStopping: () => false,
    settings: { ...defaultSettings, maxrequestsize: 1, modelalias: ['gpt-4=a'] },
    now: () => 1000,
    ...own,
  });
  return { work, calls };
}

const keys = (own: object = {}) => ({ list: () => [{ ...key, ...own }] as never });

test('batchWork: a request goes through its endpoint, in the name of its sender, and can give way', async () => {
  const { work, calls } = world({ keys: keys() });
  const sent = await work.send(batch({ sender: { key: 'phone', address: '192.0.2.1' } }), request({ a: 1 }), turn());
  expect(sent).toEqual({ status: 200, requestId: expect.stringMatching(/^req_/), body: { ok: true } });
  expect(calls[0]).toMatchObject({
    method: 'POST',
    path,
    remoteAddress: '192.0.2.1',
    key: { name: 'phone', weight: 2 },
  });
  expect(calls[0]?.body.toString()).toBe('{"a":1}');
  expect(calls[0]?.giveWay).toBeDefined();
});

test.each([
  ['revoked', { list: () => [] }, 'unauthorized'],
  ['expired', keys({ expires: 1000 }), 'unauthorized'],
  ['without its scope', keys({ scopes: ['documents'] }), 'scope-missing'],
])('batchWork: a key that is %s answers nothing', async (_, found, code) => {
  const { work, calls } = world({ keys: found });
  const sender = { key: 'phone', address: '' };
  expect(await work.send(batch({ sender }), request(), turn())).toMatchObject({ body: { family: code } });
  expect(calls).toEqual([]);
});

test.each(['stream', 'background'])('batchWork: %s is refused', async (field) => {
  const { work, calls } = world();
  expect(await work.send(batch(), request({ [field]: true }), turn())).toMatchObject({ status: 400 });
  expect(await work.send(batch(), request({ [field]: false }), turn())).toMatchObject({ status: 200 });
  expect(calls).toHaveLength(1);
});

test.each([
  ['a full server', new AppError('engine-down', { capability: 'text', reason: '', retryAfterSeconds: 3 }), 5000],
  ['a lost engine', new AppError('engine-lost', { capability: 'text' }), 5000],
  ['a refused field', new AppError('invalid-field', { field: 'a', expected: 'b' }), undefined],
  ['a fault', new Error('unexpected'), undefined],
])('batchWork: after %s the next try is in %s ms', async (_, error, retryMs) => {
  const { work } = world({}, () => {
    throw error;
  });
  expect((await work.send(batch(), request(), turn())).retryMs).toBe(retryMs);
});

test('batchWork: a missing model is not waited for', async () => {
  const reply = { ...json({}, 503), headers: { 'x-should-retry': 'false' } };
  expect((await world({}, () => reply).work.send(batch(), request(), turn())).retryMs).toBeUndefined();
  const busy = { ...json({}, 503), headers: { 'retry-after': '2' } };
  expect((await world({}, () => busy).work.send(batch(), request(), turn())).retryMs).toBe(2000);
});

test('batchWork: a key that has used its tokens of the day waits', async () => {
  let isOver = true;
  const error = new AppError('key-tokens-used', { tokens: 1, day: '', retryAfterSeconds: 1 });
  const { work } = world({ keys: keys(), usage: { overLimit: () => (isOver ? error : undefined) } });
  const own = batch({ sender: { key: 'phone', address: '' } });
  expect(await work.delay(own, request())).toBeGreaterThan(0);
  expect(await work.delay(batch(), request())).toBe(0);
  isOver = false;
  expect(await work.delay(own, request())).toBe(0);
});

const held = (name: string, kind = 'text', type: 'ready' | 'unloaded' = 'ready') =>
  ({ name, kind, state: { type }, inUse: 0, bytes: 1, expiresAt: 0 }) as HeldModel;
const listed = (name: string) =>
  ({ name, id: `koboldcpp/${name}`, state: 'ready', expiresAt: 0, present: false }) as ListedModel;
const models = { byName: true, list: async () => [listed('a'), listed('b')] };

test.each([
  ['that is loaded', [held('a'), held('b', 'text', 'unloaded')], 'a', 0, true],
  ['by its id', [held('a')], 'koboldcpp/a', 0, true],
  ['by an alias', [held('a')], 'gpt-4', 0, true],
  ['that would take the place of another one', [held('a')], 'b', 60_000, false],
  ['that nobody would miss', [held('a')], 'b', 300_000, true],
  ['if none is loaded', [held('a', 'text', 'unloaded')], 'b', 0, true],
  ['while a person draws', [held('sketch', 'image')], 'a', 0, false],
  ['without a name', [held('a')], undefined, 0, true],
])('batchWork: may use a model %s', async (_, memory, model, idle, mayRun) => {
  const { work } = world({ models, memory: { list: () => memory }, idleMs: () => idle });
  expect((await work.delay(batch(), request({ model }))) === 0).toBe(mayRun);
});

test('batchWork: names that no model has are problems of the input, where names select models', async () => {
  const { work } = world({ models });
  expect(await work.modelProblem(path, 'a')).toBeUndefined();
  expect(await work.modelProblem(path, undefined)).toBeUndefined();
  expect(await work.modelProblem('/v1/embeddings', 'any')).toBeUndefined();
  expect(await work.modelProblem(path, 'no')).toContain('no model "no"');
  expect(await world().work.modelProblem(path, 'no')).toBeUndefined();
});

test('lastUse: counts from the end of the last request that was in the queue', () => {
  let now = 1000;
  const people = lastUse(() => now);
  expect(people.idleMs()).toBe(Number.POSITIVE_INFINITY);
  const watch = people.watch();
  watch.queued?.('text');
  now += 5000;
  expect(people.idleMs()).toBe(0);
  watch.left?.();
  now += 7000;
  expect(people.idleMs()).toBe(7000);
});
