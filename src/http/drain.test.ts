import { Agent } from 'node:http';
import { connect as connectTls } from 'node:tls';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { json } from './call.ts';
import { testTls } from './testing/certificate.ts';
import { ask, dialect, endpoint, handTimer, latch, serve, Wire, wire } from './testing/world.ts';

const post = 'POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n';

/** An endpoint whose responses wait until they are let go. */
function held() {
  const [begun, gate] = [latch(), latch()];
  const held = endpoint(async () => {
    begun.open();
    await gate.promise;
    return json({ done: true });
  });
  return { held, begun: begun.promise, letGo: () => gate.open() };
}

/** A stream of two frames; the second waits until it is let go. */
function streaming() {
  const gate = latch();
  async function* frames() {
    yield 'data: 1\n\n';
    await gate.promise;
    yield 'data: 2\n\n';
  }
  return { stream: endpoint(() => ({ status: 200, stream: frames() })), letGo: () => gate.open() };
}

const settled = (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);

test('drain: takes no new connections', async () => {
  const world = await serve([]);
  await world.drain();
  await expect(ask(world, { path: '/' })).rejects.toThrow('ECONNREFUSED');
});

test('drain: ends idle connections, used ones and unused ones', async () => {
  const world = await serve([endpoint(() => json({}))]);
  const [unused, used] = [wire(world), wire(world).send(post)];
  await used.until('{}');
  const taken = wire(world);
  // Connections are accepted in order: when this one is answered, all of them are known.
  await taken.send(post).until('{}');
  await world.drain();
  await Promise.all([unused.closed, used.closed, taken.closed]);
});

test('drain: waits for a running request, whose response closes the connection', async () => {
  const { held: work, begun, letGo } = held();
  const world = await serve([work]);
  const agent = new Agent({ keepAlive: true });
  const answer = ask(world, { method: 'POST', path: '/work', agent });
  await begun;
  const drained = world.drain();
  expect(await settled(drained)).toBe(false);
  letGo();
  await drained;
  const { status, headers } = await answer;
  expect([status, headers.connection]).toEqual([200, 'close']);
  agent.destroy();
});

test('drain: a stream that has begun is sent to its end, and then its connection ends', async () => {
  const { stream, letGo } = streaming();
  const world = await serve([stream]);
  const one = wire(world).send(post);
  await one.until('data: 1');
  const drained = world.drain();
  letGo();
  await Promise.all([drained, one.closed]);
  expect(one.received).toMatch(/data: 1.*data: 2.*0\r\n\r\n$/s);
});

test('drain: a large response that was written before is still sent to a slow client', async () => {
  const size = 30_000_000;
  const world = await serve([endpoint(() => ({ status: 200, body: Buffer.alloc(size, 97) }))]);
  const one = wire(world).send(post);
  await one.until('HTTP/1.1 200');
  one.socket.pause();
  const drained = world.drain();
  one.socket.resume();
  await Promise.all([drained, one.closed]);
  expect(one.received.slice(one.received.indexOf('\r\n\r\n') + 4)).toHaveLength(size);
});

test('drain: a further request on a kept connection gets 503 in the words of its dialect, and the connection ends', async () => {
  const { stream, letGo } = streaming();
  const refused = latch();
  const world = await serve([stream], { onRefused: () => refused.open() });
  const one = wire(world).send(post);
  await one.until('data: 1');
  const drained = world.drain();
  one.send(post);
  await refused.promise;
  letGo();
  await Promise.all([drained, one.closed]);
  const [, second = ''] = one.received.split('0\r\n\r\n');
  expect(second).toMatch(/^HTTP\/1.1 503 .*\r\nconnection: close\r\n.*"family":"stopping"/is);
});

test('drain: a request that was disconnected does not hold it up', async () => {
  const { held: work, begun } = held();
  const world = await serve([work]);
  const one = wire(world).send(post);
  await begun;
  const drained = world.drain();
  one.socket.destroy();
  await drained;
});

test('drain: over TLS, a running stream is sent to its end', async () => {
  const { stream, letGo } = streaming();
  const world = await serve([stream], { tls: testTls });
  const one = new Wire(connectTls({ port: world.port, host: '127.0.0.1', ca: testTls.certificate }));
  const idle = new Wire(connectTls({ port: world.port, host: '127.0.0.1', ca: testTls.certificate }));
  await Promise.all([one.send(post).until('data: 1'), idle.send(post).until('data: 1')]);
  const drained = world.drain();
  letGo();
  await Promise.all([drained, one.closed, idle.closed]);
  expect(one.received).toContain('data: 2');
});

const live = { match: 'exact', path: '/live', access: 'open', summary: '', dialect } as const;

test('drain: closes WebSockets with code 1001', async () => {
  const world = await serve([], { sockets: [{ ...live, open: () => undefined }] });
  const client = new WebSocket(`ws://127.0.0.1:${world.port}/live`);
  await new Promise((resolve) => client.once('open', resolve));
  const closed = new Promise((resolve) => client.once('close', (code, reason) => resolve([code, String(reason)])));
  await world.drain();
  expect(await closed).toEqual([1001, 'the server is stopping']);
});

test('drain: disconnects a WebSocket client that does not answer the close', async () => {
  const { startTimer, pass, waiting } = handTimer();
  const world = await serve([], { startTimer, sockets: [{ ...live, open: () => undefined }] });
  const one = wire(world);
  const key = 'sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';
  one.send(`GET /live HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n${key}\r\n`);
  await one.until('101 Switching');
  const drained = world.drain();
  await one.until('the server is stopping');
  expect(waiting()).toContain(1000);
  pass(1000);
  await Promise.all([drained, one.closed]);
});
