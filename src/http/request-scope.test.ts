import { describe, expect, test } from 'vitest';
import { systemTimer } from '../core/timers.ts';
import { type Call, json } from './call.ts';
import { requestScope } from './request-scope.ts';
import { ResumableStreams } from './resumable-streams.ts';
import { sseHeaders } from './sse.ts';
import { ask, endpoint, latch, serve, wire } from './testing/world.ts';

/** Handles an uncaught exception as `guardFaults` does. */
const thrownLater = (error: Error): Promise<boolean> =>
  new Promise((resolve) => setTimeout(() => resolve(requestScope.getStore()?.fail(error) ?? false)));

describe('requestScope: exception outside of every try', () => {
  test('requestScope: answers 500 in the error format of the API and aborts the work', async () => {
    const aborted = latch();
    const work = endpoint(async ({ signal }) => {
      signal.addEventListener('abort', () => aborted.open());
      void thrownLater(new Error('in a callback'));
      return new Promise(() => undefined);
    });
    const world = await serve([work], { scopeRequests: true });
    const { status, text } = await ask(world, { method: 'POST', path: '/work' });
    expect([status, JSON.parse(text).family]).toEqual([500, 'internal']);
    expect(world.errors).toEqual([new Error('in a callback')]);
    await aborted.promise;
  });

  test('requestScope: closes the connection of a started stream', async () => {
    async function* stream({ signal }: Call) {
      yield 'one';
      void thrownLater(new Error('in the middle'));
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    }
    const world = await serve([endpoint((call) => ({ status: 200, stream: stream(call) }))], { scopeRequests: true });
    const one = wire(world).send('POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n');
    await one.closed;
    expect(one.received).toContain('one');
    expect(one.received).not.toContain('0\r\n\r\n');
    expect(world.errors).toEqual([new Error('in the middle')]);
  });

  test('requestScope: ends a resumable stream that goes on without its client', async () => {
    const streams = new ResumableStreams({ startTimer: systemTimer });
    const gone = latch();
    const failed = latch<boolean>();
    const aborted = latch();
    async function* stream({ signal }: Call) {
      signal.addEventListener('abort', () => aborted.open());
      yield 'data: one\n\n';
      await gone.promise;
      void thrownLater(new Error('nobody reads')).then((did) => failed.open(did));
      await new Promise(() => undefined);
    }
    const work = endpoint((call) => ({ status: 200, headers: sseHeaders, stream: stream(call) }));
    const observeRequest = () => ({ ended: () => gone.open() });
    const world = await serve([work], { scopeRequests: true, streams, observeRequest });
    const head = 'POST /work HTTP/1.1\r\nhost: localhost\r\nx-parley-resumable: 1\r\ncontent-length: 0\r\n\r\n';
    const one = wire(world).send(head);
    await one.until('data: one');
    one.socket.destroy();
    expect(await failed.promise).toBe(true);
    await aborted.promise;
    expect(streams.detached).toBe(0);
    expect(world.errors).toEqual([new Error('nobody reads')]);
  });

  test('requestScope: ignores an exception after the response', async () => {
    const gate = latch();
    const failed = latch<boolean>();
    const work = endpoint(() => {
      void gate.promise.then(() => thrownLater(new Error('late'))).then((did) => failed.open(did));
      return json({});
    });
    const world = await serve([work], { scopeRequests: true });
    expect((await ask(world, { method: 'POST', path: '/work' })).status).toBe(200);
    gate.open();
    expect(await failed.promise).toBe(false);
  });
});
