import { expect, test } from 'vitest';
import { Aborted } from '../core/abort.ts';
import type { RequestContext } from '../core/request-context.ts';
import { eventsFor, requestContextOf, textRequestContext } from './request-context.ts';
import { callOf } from './testing/doubles.ts';

const from = (remoteAddress: string, headers: Record<string, string> = {}) => ({ remoteAddress, headers });
const shared = { authorization: 'Bearer shared' };

const named = (call: ReturnType<typeof from>, genkey: string) =>
  requestContextOf({ ...callOf('/x', {}), ...call }, genkey);

test.each([
  ['one address', from('::1'), '', from('::1'), '', true, true],
  ['two addresses', from('::1'), '', from('10.0.0.2'), '', false, true],
  ['one genkey at two addresses', from('::1'), 'k', from('10.0.0.2'), 'k', false, true],
  ['two genkeys at one address', from('::1'), 'k', from('::1'), 'l', true, false],
  ['two keys at one address', from('::1', { 'x-api-key': 'a' }), '', from('::1', { 'api-key': 'b' }), '', true, false],
  ['one key, however it is sent', from('::1', { 'x-api-key': 'shared' }), '', from('::1', shared), '', true, true],
  ['one password at two addresses', from('::1', shared), '', from('10.0.0.2', shared), '', false, true],
  ['one password with two genkeys', from('::1', shared), 'k', from('::1', shared), 'l', true, false],
] as const)('requestContextOf: %s: the same client and part', (_, one, oneKey, other, otherKey, client, part) => {
  const [first, second] = [named(one, oneKey), named(other, otherKey)];
  expect([first.client === second.client, first.part === second.part]).toEqual([client, part]);
});

test('requestContextOf: contains no key', () => {
  expect(JSON.stringify(named(from('::1', shared), ''))).not.toContain('shared');
});

test('requestContextOf: has a queue status once it is queued', () => {
  const requestContext = requestContextOf(callOf('/x', {}), 'k');
  expect([requestContext.genkey, requestContext.queueStatus()]).toEqual(['k', undefined]);
  // Services hand on a context of their own, with another signal.
  const own: RequestContext = { ...requestContext, signal: AbortSignal.abort() };
  own.onQueued?.(() => ({ type: 'queued', position: 1, estimateSeconds: 4 }));
  expect(requestContext.queueStatus()).toEqual({ type: 'queued', position: 1, estimateSeconds: 4 });
});

test.each([
  [{ genkey: 'k', kept: true }, false],
  [{ genkey: 'k', kept: false }, true],
  // Nobody could ask for it again.
  [{ genkey: '', kept: true }, true],
])('textRequestContext: %j ends with its client: %j', async (asker, ends) => {
  const leaving = new AbortController();
  const requestContext = textRequestContext({ ...callOf('/x', {}), signal: leaving.signal }, asker);
  leaving.abort();
  expect(requestContext.signal.aborted).toBe(ends);
  let read = 0;
  async function* three() {
    for (; read < 3; read += 1) yield read;
  }
  for await (const _ of eventsFor(requestContext, three())) break;
  await new Promise((resolve) => setImmediate(resolve));
  expect(read).toBe(ends ? 0 : 3);
});

test('textRequestContext: one that goes on without its client ends when its stream is cancelled', () => {
  const stream = new AbortController();
  const requestContext = textRequestContext(
    { ...callOf('/x', {}), signal: stream.signal },
    { genkey: 'k', kept: true },
  );
  stream.abort(new Aborted('cancelled'));
  expect(requestContext.signal.aborted).toBe(true);
});
