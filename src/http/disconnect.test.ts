import { connect as tlsConnect } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { type Call, json } from './call.ts';
import { testTls } from './testing/certificate.ts';
import { ask, endpoint, handTimer, latch, serve, Wire, type World, wire } from './testing/world.ts';

const head = 'POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n';
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())));

const ways = [
  ['plain', {}, (world: World) => wire(world)],
  [
    'TLS',
    { tls: testTls },
    (world: World) => new Wire(tlsConnect({ port: world.port, host: '127.0.0.1', ca: testTls.certificate })),
  ],
] as const;

describe.each(ways)('client disconnect (%s)', (_name, options, dial) => {
  test.each(['destroy', 'end'] as const)('aborts the signal of a queued or running request: %s', async (how) => {
    const started = latch<Call>();
    const ended = latch();
    const work = endpoint(async (call) => {
      started.open(call);
      await aborted(call.signal);
      ended.open();
      throw new Error('stopped');
    });
    const world = await serve([work], options);
    const one = dial(world).send(`${head}{}`);
    await started.promise;
    one.socket[how]();
    await ended.promise;
    await one.closed;
    expect(world.errors).toEqual([]);
  });

  test('aborts the signal and ends the iterator of a stream', async () => {
    const ended = latch();
    const left = latch();
    async function* stream({ signal }: Call) {
      try {
        yield 'one';
        await aborted(signal);
        ended.open();
        yield 'two';
        throw new Error('pulled although nobody reads');
      } finally {
        left.open();
      }
    }
    const world = await serve([endpoint((call) => ({ status: 200, stream: stream(call) }))], options);
    const one = dial(world).send(`${head}{}`);
    await one.until('one');
    one.socket.destroy();
    await ended.promise;
    await left.promise;
    expect(world.errors).toEqual([]);
  });
});

describe('client disconnect', () => {
  test('during the body: the handler is never called', async () => {
    const time = handTimer();
    const reading = latch();
    const calls: Call[] = [];
    const work = endpoint((call) => {
      calls.push(call);
      return json({});
    });
    const world = await serve([work], {
      startTimer: (...wait) => {
        reading.open();
        return time.startTimer(...wait);
      },
    });
    const one = wire(world).send(`${head}{`);
    await reading.promise;
    one.socket.destroy();
    await one.closed;
    await ask(world, { method: 'POST', path: '/work', body: 'after' });
    expect(calls.map(({ body }) => body.toString())).toEqual(['after']);
    expect(time.waiting()).toEqual([]);
    expect(world.errors).toEqual([]);
  });

  test('aborts all requests of the connection', async () => {
    const calls: Call[] = [];
    const both = latch();
    const work = endpoint(async (call) => {
      if (calls.push(call) === 2) both.open();
      await aborted(call.signal);
      return json({});
    });
    const one = wire(await serve([work])).send(`${head}{}${head}{}`);
    await both.promise;
    one.socket.destroy();
    await Promise.all(calls.map(({ signal }) => aborted(signal)));
  });

  test('after a complete response: aborts nothing', async () => {
    const answered: AbortSignal[] = [];
    const work = endpoint(({ signal }) => {
      answered.push(signal);
      return json({ done: true });
    });
    const world = await serve([work]);
    const one = wire(world).send(`${head}{}`);
    await one.until('done');
    one.socket.destroy();
    await one.closed;
    await world.close();
    expect(answered.map(({ aborted }) => aborted)).toEqual([false]);
  });

  test('server stop aborts a running request in the same way', async () => {
    const started = latch<Call>();
    const work = endpoint(async (call) => {
      started.open(call);
      await aborted(call.signal);
      return json({});
    });
    const world = await serve([work]);
    wire(world).send(`${head}{}`);
    const { signal } = await started.promise;
    await world.close();
    expect(signal.aborted).toBe(true);
  });
});
