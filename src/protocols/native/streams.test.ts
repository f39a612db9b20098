import { expect, test } from 'vitest';
import { abortCause } from '../../core/abort.ts';
import { Channel } from '../../core/channel.ts';
import { systemTimer } from '../../core/timers.ts';
import type { Call, Endpoint, Reply } from '../../http/call.ts';
import { ResumableStreams } from '../../http/resumable-streams.ts';
import type { HttpServerOptions } from '../../http/server.ts';
import { line, ndjsonHeaders, sseHeaders } from '../../http/sse.ts';
import { ask, endpoint, handTimer, latch, serve, wire } from '../../http/testing/world.ts';
import { streamEndpoints } from './streams.ts';

const asking = { 'x-parley-resumable': '1' };
const frame = (text: string): string => `data: ${text}\n\n`;
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())));

/** A server with one endpoint that streams what the test pushes, and the endpoints under test. */
async function world(options: Partial<HttpServerOptions> = {}, headers: Record<string, string> = sseHeaders) {
  const streams = new ResumableStreams({ startTimer: systemTimer });
  const source = new Channel<string>();
  const calls: Call[] = [];
  const work = endpoint((call) => {
    calls.push(call);
    call.signal.addEventListener('abort', () => source.end());
    return { status: 200, headers: { ...headers, 'x-parley-ignored': 'top_q' }, stream: source };
  });
  const native = streamEndpoints({ streams }).map(
    (row): Endpoint => ({ ...row, access: 'guarded', rateLimited: false, handle: (call) => row.handle(call, {}) }),
  );
  const server = await serve([work, ...native], { newId: ids(), streams, ...options });
  const stream = (query = '', own: Record<string, string> = {}) =>
    ask(server, { method: 'GET', path: `/api/extra/stream/req_1${query}`, headers: own });
  return { server, streams, source, calls, stream };
}

/** `req_1`, `req_2` and so on. */
function ids(): () => string {
  let last = 0;
  return () => {
    last += 1;
    return `req_${last}`;
  };
}

const post = 'POST /work HTTP/1.1\r\nhost: localhost\r\nx-parley-resumable: 1\r\ncontent-length: 2\r\n\r\n{}';

test('a stream that was cut is taken up where it was left, in its own form', async () => {
  const { server, source, stream } = await world();
  const one = wire(server).send(post);
  source.push(frame('a') + frame('b'));
  await one.until('id: 2\ndata: b\n\n');
  expect(one.received).toMatch(/^HTTP\/1\.1 200 OK\r\n.*x-request-id: req_1\r\n/s);
  expect(one.received).toContain('x-parley-resumable: 1\r\n');
  one.socket.destroy();
  source.push(frame('c'));
  const again = stream('?after=1');
  source.push(frame('d'));
  source.end();
  const { status, headers, text } = await again;
  expect(text).toBe('id: 2\ndata: b\n\nid: 3\ndata: c\n\nid: 4\ndata: d\n\n');
  expect(status).toBe(200);
  expect(headers).toMatchObject({ ...sseHeaders, 'x-parley-ignored': 'top_q', 'x-parley-resumable': '1' });
  expect((await stream('?after=1', { 'last-event-id': '3' })).text).toBe('id: 4\ndata: d\n\n');
});

test('lines of JSON have their number in a field', async () => {
  const { server, source, stream } = await world({}, ndjsonHeaders);
  source.push(line({ response: 'a' }) + line({ response: 'b' }));
  source.end();
  const { text } = await ask(server, { method: 'POST', path: '/work', body: '{}', headers: asking });
  expect(text).toBe('{"i":1,"response":"a"}\n{"i":2,"response":"b"}\n');
  expect((await stream('?after=1')).text).toBe('{"i":2,"response":"b"}\n');
});

test('without the header nothing is numbered, and a client that is gone aborts the work', async () => {
  const { server, source, calls, stream } = await world();
  const one = wire(server).send(post.replace('x-parley-resumable: 1\r\n', ''));
  source.push(frame('a'));
  await one.until('data: a\n\n');
  expect(one.received).not.toMatch(/^(id: 1|x-parley-resumable: 1)$/m);
  one.socket.destroy();
  await aborted((calls[0] as Call).signal);
  expect(await stream()).toMatchObject({ status: 404 });
});

test('several read it at once, each from its own place', async () => {
  const { server, source, stream } = await world();
  const one = wire(server).send(post);
  source.push(frame('a'));
  await one.until('data: a');
  const both = [stream(), stream('?after=1')];
  source.push(frame('b'));
  source.end();
  const [all, rest] = await Promise.all(both);
  expect(all?.text).toBe('id: 1\ndata: a\n\nid: 2\ndata: b\n\n');
  expect(rest?.text).toBe('id: 2\ndata: b\n\n');
  await one.until('data: b');
});

test.each([
  ['an unknown id', '/api/extra/stream/req_99', {}, 404, 'Send the request again'],
  ['a number that is none', '/api/extra/stream/req_1?after=x', {}, 400, 'after must be a number from 0.'],
  ['a header that is no number', '/api/extra/stream/req_1', { 'last-event-id': '-1' }, 400, 'Last-Event-ID must be'],
  ['a number beyond the end', '/api/extra/stream/req_1?after=9', {}, 400, 'no event 9: its last one so far is 1'],
])('%s is refused in the native form', async (_, path, headers, status, sentence) => {
  const { server, source } = await world();
  source.push(frame('a'));
  source.end();
  await ask(server, { method: 'POST', path: '/work', body: '{}', headers: asking });
  const answer = await ask(server, { method: 'GET', path, headers });
  expect(answer.status).toBe(status);
  expect(JSON.parse(answer.text).detail.msg).toContain(sentence);
});

test('HEAD and OPTIONS are answered as everywhere', async () => {
  const { server } = await world();
  const path = '/api/extra/stream/req_1';
  expect(await ask(server, { method: 'HEAD', path })).toMatchObject({ status: 200, text: '' });
  const headers = { origin: 'http://localhost:1', 'access-control-request-headers': 'last-event-id' };
  const preflight = await ask(server, { method: 'OPTIONS', path, headers });
  expect(preflight.headers['access-control-allow-headers']).toContain('last-event-id');
  expect(preflight.headers['access-control-expose-headers']).toContain('x-parley-resumable');
});

test('pages of other origins may not take it up or stop it', async () => {
  const { server } = await world();
  for (const method of ['GET', 'DELETE'])
    expect(
      await ask(server, { method, path: '/api/extra/stream/req_1', headers: { origin: 'https://evil.example' } }),
    ).toMatchObject({ status: 403 });
});

test('the stream of one key is not there for another, nor for the password', async () => {
  const keys = {
    find: (key: string) => (key === 'wrong' ? undefined : { name: key, scopes: [], weight: 1 }),
    use: () => 0,
  };
  const { server, source, stream } = await world({ guard: { password: 'secret', keys } });
  source.push(frame('a'));
  source.end();
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  await ask(server, { method: 'POST', path: '/work', body: '{}', headers: { ...asking, ...bearer('laptop') } });
  expect(await stream('', bearer('phone'))).toMatchObject({ status: 404 });
  expect(await stream('', bearer('secret'))).toMatchObject({ status: 404 });
  expect(await stream('', bearer('wrong'))).toMatchObject({ status: 401 });
  expect(await stream('')).toMatchObject({ status: 401 });
  expect((await stream('', bearer('laptop'))).text).toBe('id: 1\ndata: a\n\n');
});

test('DELETE stops the work; what there is of it can be read', async () => {
  const { server, source, calls, stream } = await world();
  const one = wire(server).send(post);
  source.push(frame('a'));
  await one.until('data: a');
  one.socket.destroy();
  const answer = await ask(server, { method: 'DELETE', path: '/api/extra/stream/req_1' });
  expect(JSON.parse(answer.text)).toEqual({ success: true });
  expect(abortCause((calls[0] as Call).signal)).toBe('cancelled');
  expect((await stream()).text).toBe('id: 1\ndata: a\n\n');
});

test('a reply that is taken up is not numbered again', async () => {
  const { server, source, stream, streams } = await world();
  source.push(frame('a'));
  source.end();
  await ask(server, { method: 'POST', path: '/work', body: '{}', headers: asking });
  expect((await stream('', asking)).text).toBe('id: 1\ndata: a\n\n');
  expect(streams.detached).toBe(0);
});

test('a client that does not read is disconnected, and its work goes on', async () => {
  const time = handTimer();
  const { server, source, calls, streams, stream } = await world({ startTimer: time.startTimer });
  const one = wire(server).send(post);
  one.socket.pause();
  const large = frame('x'.repeat(1_000_000));
  for (let count = 0; count < 8; count++) source.push(large);
  // The socket is full: the stall timer runs, and destroys the connection once no more bytes leave.
  while (!time.waiting().includes(60_000)) await new Promise((resolve) => setImmediate(resolve));
  while (streams.detached === 0) {
    time.pass(60_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(calls[0]?.signal.aborted).toBe(false);
  source.end();
  expect((await stream('?after=6')).text.match(/^id: \d/gm)).toEqual(['id: 7', 'id: 8']);
});

test('drain: stops streams without a reader, and settles when they have their last event', async () => {
  const { server, streams, calls } = await world();
  const one = wire(server).send(post);
  await one.until('x-parley-resumable: 1');
  one.socket.destroy();
  while (streams.detached === 0) await new Promise((resolve) => setImmediate(resolve));
  const drained = server.drain();
  await aborted(calls[0]?.signal as AbortSignal);
  expect(abortCause(calls[0]?.signal as AbortSignal)).toBe('shutdown');
  await drained;
  expect(streams.detached).toBe(0);
});

test('the end of the server aborts the work of streams without a reader', async () => {
  const { server, source, calls, streams } = await world();
  const one = wire(server).send(post);
  source.push(frame('a'));
  await one.until('data: a');
  one.socket.destroy();
  while (streams.detached === 0) await new Promise((resolve) => setImmediate(resolve));
  await server.close();
  expect(abortCause((calls[0] as Call).signal)).toBe('shutdown');
});

test('exchange watch: reports the end of the response, not of the generation', async () => {
  const told: string[] = [];
  const over = latch();
  const observeRequest = () => ({
    ended: (how: string) => {
      told.push(how);
      over.open();
    },
  });
  const { server, source, calls } = await world({ observeRequest });
  const one = wire(server).send(post);
  source.push(frame('a'));
  await one.until('data: a');
  one.socket.destroy();
  await over.promise;
  expect(told).toEqual(['client-gone']);
  expect(calls[0]?.signal.aborted).toBe(false);
});

test('a name of the client: the work goes on even if the client is gone before the response', async () => {
  const streams = new ResumableStreams({ startTimer: systemTimer });
  const begun = latch<Call>();
  const reply = latch<Reply>();
  const work = endpoint((call) => {
    begun.open(call);
    return reply.promise;
  });
  const native = streamEndpoints({ streams }).map(
    (row): Endpoint => ({ ...row, access: 'guarded', rateLimited: false, handle: (call) => row.handle(call, {}) }),
  );
  const gone = latch();
  const server = await serve([work, ...native], { streams, observeRequest: () => ({ ended: () => gone.open() }) });
  const one = wire(server).send(post.replace('resumable: 1', 'resumable: chat-0123456789ab'));
  const call = await begun.promise;
  one.socket.destroy();
  await gone.promise;
  expect(call.signal.aborted).toBe(false);
  async function* source() {
    yield frame('a');
  }
  reply.open({ status: 200, headers: sseHeaders, stream: source() });
  const { text } = await ask(server, { method: 'GET', path: '/api/extra/stream/chat-0123456789ab' });
  expect(text).toBe('id: 1\ndata: a\n\n');
});
