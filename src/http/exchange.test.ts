import { expect, test } from 'vitest';
import type { ObservedRequest, RequestObserver } from '../core/request-observer.ts';
import { type Call, json } from './call.ts';
import { ask, echo, endpoint, latch, serve, wire } from './testing/world.ts';

/** Notes what a watch is told, and waits for the end of the exchange. */
function noted() {
  const heads: ObservedRequest[] = [];
  const told: string[] = [];
  const over = latch();
  const watch: RequestObserver = {
    authorized: (key) => told.push(`authorized ${key}`),
    received: (body) => told.push(`received ${body}`),
    replied: (status, headers) => told.push(`replied ${status} ${headers['x-request-id']}`),
    wrote: (piece) => told.push(`wrote ${piece}`),
    ended: (how) => {
      told.push(`ended: ${how}`);
      over.open();
    },
  };
  const observeRequest = (head: ObservedRequest): RequestObserver => {
    heads.push(head);
    return watch;
  };
  return { heads, told, over: over.promise, options: { newId: () => 'req_7', observeRequest } };
}

test.each([
  ['an answer', { method: 'POST', path: '/work', body: '{}' }, 200],
  ['a refusal', { method: 'GET', path: '/work' }, 405],
  ['an unknown path', { method: 'GET', path: '/nowhere' }, 404],
  ['a preflight', { method: 'OPTIONS', path: '/work' }, 200],
])('every reply has an id of its own: %s', async (_, options, status) => {
  const world = await serve([echo]);
  const [one, other] = [await ask(world, options), await ask(world, options)];
  expect(one.status).toBe(status);
  expect(one.headers['x-request-id']).toMatch(/^req_[0-9a-f]{24}$/);
  expect(other.headers['x-request-id']).not.toBe(one.headers['x-request-id']);
});

test('exchange watch: malformed HTTP gets an id too', async () => {
  const world = await serve([echo]);
  const one = wire(world).send('nonsense\r\n\r\n');
  await one.closed;
  expect(one.received).toMatch(/^HTTP\/1\.1 400 .*\r\nx-request-id: req_[0-9a-f]{24}\r\n/s);
});

test('the handler and the error reply of its dialect know the id', async () => {
  const dialect = { name: 'test', title: 'Test', errorReply: (_: Error, id?: string) => json({ id }, 500) };
  const failing = endpoint(
    () => {
      throw new Error('broken');
    },
    { dialect },
  );
  const own = endpoint(({ id }: Call) => json({ id }), { path: '/own' });
  const world = await serve([failing, own], { newId: () => 'req_7' });
  expect(JSON.parse((await ask(world, { method: 'POST', path: '/own', body: '{}' })).text)).toEqual({ id: 'req_7' });
  expect(JSON.parse((await ask(world, { method: 'POST', path: '/work', body: '{}' })).text)).toEqual({ id: 'req_7' });
});

test('exchange watch: reports head, body, reply, writes and end, in this order', async () => {
  const { heads, told, over, options } = noted();
  async function* stream() {
    yield 'one ';
    yield 'two';
  }
  const world = await serve([endpoint(() => ({ status: 200, stream: stream() }))], options);
  await ask(world, { method: 'POST', path: '/app/work?x=1', body: '{"a":1}' });
  await over;
  expect(heads).toMatchObject([
    { id: 'req_7', method: 'POST', path: '/app/work', endpoint: '/work', family: 'test', remoteAddress: '127.0.0.1' },
  ]);
  const [written, rest] = [
    told.filter((line) => line.startsWith('wrote')),
    told.filter((line) => !line.startsWith('wrote')),
  ];
  expect(rest).toEqual(['authorized undefined', 'received {"a":1}', 'replied 200 req_7', 'ended: sent']);
  expect(written.map((line) => line.slice('wrote '.length)).join('')).toBe('one two');
});

test('exchange watch: reports a refused request, without a body', async () => {
  const { heads, told, over, options } = noted();
  const world = await serve([echo], { ...options, guard: { password: 'right' } });
  await ask(world, { method: 'POST', path: '/work', body: '{}', headers: { authorization: 'Bearer wrong' } });
  await over;
  expect(heads).toMatchObject([{ family: 'test', endpoint: '/work' }]);
  expect(told).toMatchObject([
    'replied 401 req_7',
    expect.stringContaining('wrote {"family":"unauthorized"'),
    'ended: sent',
  ]);
});

test('a client that leaves ends the exchange', async () => {
  const { told, over, options } = noted();
  async function* stream() {
    yield 'one';
    await new Promise(() => undefined);
  }
  const world = await serve([endpoint(() => ({ status: 200, stream: stream() }))], options);
  const one = wire(world).send('POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}');
  await one.until('one');
  one.socket.destroy();
  await over;
  expect(told.at(-1)).toBe('ended: client-gone');
});

test('a stream that breaks ends the exchange as failed', async () => {
  const { told, over, options } = noted();
  async function* stream() {
    yield 'one';
    throw new Error('broken');
  }
  const world = await serve([endpoint(() => ({ status: 200, stream: stream() }))], options);
  await ask(world, { method: 'POST', path: '/work', body: '{}' }).catch(() => undefined);
  await over;
  expect(told.at(-1)).toBe('ended: failed');
});
