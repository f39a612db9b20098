import { connect } from 'node:tls';
import { describe, expect, test } from 'vitest';
import type { StartTimer } from '../core/timers.ts';
import type { KeepAlive, StatusComments } from './call.ts';
import { testTls } from './testing/certificate.ts';
import { endpoint, handTimer, latch, serve, Wire, wire } from './testing/world.ts';

const get = 'GET /work HTTP/1.1\r\nhost: localhost\r\n\r\n';

async function play(
  stream: AsyncIterable<string | Uint8Array>,
  more: {
    readonly keepAlive?: KeepAlive;
    readonly statusComments?: StatusComments;
    readonly startTimer?: StartTimer;
    readonly before?: string;
  } = {},
): Promise<Wire> {
  const { startTimer, before = get, ...rest } = more;
  const reply = { status: 200, headers: { 'content-type': 'text/event-stream' }, stream, ...rest };
  const work = endpoint(() => reply, { method: 'GET' });
  return wire(await serve([work], startTimer ? { startTimer } : {})).send(before);
}

/** The chunks as they were framed on the wire. */
function chunks({ received }: Wire): string[] {
  const body = received.slice(received.indexOf('\r\n\r\n') + 4);
  return [...body.matchAll(/[0-9a-f]+\r\n(.*?)\r\n/gs)].map(([, text]) => text ?? '').filter((text) => text !== '');
}

test('writeStream: ends the connection and the iterator when a status comment throws in its timer', async () => {
  const time = handTimer();
  const ended = latch();
  const source = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise<IteratorResult<string>>(() => undefined),
      return: async () => {
        ended.open();
        return { done: true as const, value: undefined };
      },
    }),
  };
  let comments = 0;
  const next = (): string => {
    comments += 1;
    if (comments > 1) throw new Error('no status');
    return ': waiting\n\n';
  };
  const one = await play(source, { statusComments: { milliseconds: 1000, next }, startTimer: time.startTimer });
  await one.until(': waiting');
  time.pass(1000);
  await Promise.all([one.closed, ended.promise]);
  expect(one.received).not.toContain('\r\n0\r\n\r\n');
});

describe('writeStream', () => {
  test('sends the head before the first chunk', async () => {
    const gate = latch();
    async function* late() {
      await gate.promise;
      yield 'late';
    }
    const one = await play(late());
    await one.until('text/event-stream');
    expect(one.received).not.toContain('late');
    gate.open();
    await one.until('0\r\n\r\n');
    expect(chunks(one)).toEqual(['late']);
  });

  test('joins chunks that are ready into one write, and writes later ones as they come', async () => {
    const gate = latch();
    async function* pieces() {
      yield* ['a', 'b', 'c'];
      await gate.promise;
      yield 'd';
    }
    const one = await play(pieces());
    await one.until('abc');
    gate.open();
    await one.until('0\r\n\r\n');
    expect(chunks(one)).toEqual(['abc', 'd']);
  });

  test('keeps the order of texts and bytes', async () => {
    async function* mixed() {
      yield 'text ';
      yield Buffer.from('bytes ');
      yield Buffer.from('more ');
      yield 'end';
    }
    const one = await play(mixed());
    await one.until('0\r\n\r\n');
    expect(chunks(one).join('')).toBe('text bytes more end');
  });

  test('bytes: waits for a client that does not read', async () => {
    let made = 0;
    async function* endless() {
      for (;;) {
        made += 1;
        yield Buffer.alloc(65_536);
      }
    }
    const one = await play(endless());
    await one.until('text/event-stream');
    one.socket.pause();
    let before = -1;
    while (before !== made) {
      before = made;
      for (let round = 0; round < 50; round += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(made).toBeLessThan(2000);
  });

  test('never splits a character', async () => {
    async function* letters() {
      yield 'grüße ';
      yield '🙂';
    }
    const one = await play(letters());
    await one.until('0\r\n\r\n');
    expect(chunks(one)).toEqual(['grüße 🙂']);
  });

  test('keeps the connection open', async () => {
    async function* twice() {
      yield 'word';
    }
    const work = endpoint(() => ({ status: 200, stream: twice() }), { method: 'GET' });
    const one = wire(await serve([work])).send(get);
    await one.until('0\r\n\r\n');
    one.received = '';
    await one.send(get).until('0\r\n\r\n');
    expect(chunks(one)).toEqual(['word']);
  });

  test('closes the connection of an HTTP/1.0 client', async () => {
    async function* pieces() {
      yield 'plain';
    }
    const one = await play(pieces(), { before: 'GET /work HTTP/1.0\r\n\r\n' });
    await one.closed;
    expect(one.received).toMatch(/\r\n\r\nplain$/);
  });

  test('does not pull while the client does not read, and continues afterwards', async () => {
    const piece = 'x'.repeat(65_536);
    const count = 1000;
    let pulled = 0;
    let waiting: NodeJS.Immediate | undefined;
    const still = latch();
    async function* many() {
      for (; pulled < count; pulled++) {
        // Still when many turns of the event loop pass without a pull.
        clearImmediate(waiting);
        let turns = 0;
        const turn = (): void => {
          if (++turns === 5000) still.open();
          else waiting = setImmediate(turn);
        };
        waiting = setImmediate(turn);
        yield piece;
      }
      clearImmediate(waiting);
    }
    const one = await play(many(), { before: 'GET /work HTTP/1.0\r\n\r\n' });
    let received = 0;
    one.socket.removeAllListeners('data').pause();
    await still.promise;
    expect(pulled).toBeLessThan(count / 2);
    one.socket.on('data', (text: string) => {
      received += text.length;
    });
    one.socket.resume();
    await one.closed;
    expect(pulled).toBe(count);
    expect(received).toBeGreaterThan(count * piece.length);
    expect(received).toBeLessThan(count * piece.length + 2000);
  });

  test('notices a disconnect although chunks are always ready', async () => {
    const left = latch();
    async function* endless() {
      try {
        for (;;) yield 'more ';
      } finally {
        left.open();
      }
    }
    const one = await play(endless());
    await one.until('more');
    one.socket.destroy();
    await left.promise;
  });

  test('writes the keep-alive only after silence', async () => {
    const time = handTimer();
    const gates = [latch(), latch()] as const;
    async function* slow() {
      await gates[0].promise;
      yield 'word ';
      await gates[1].promise;
      yield 'end';
    }
    const one = await play(slow(), {
      keepAlive: { milliseconds: 50_000, filler: ': wait\n\n' },
      startTimer: time.startTimer,
    });
    await one.until('\r\n\r\n');
    time.pass(50_000);
    await one.until(': wait');
    gates[0].open();
    await one.until('word');
    time.pass(50_000);
    gates[1].open();
    await one.until('0\r\n\r\n');
    expect(chunks(one).join('')).toBe(': wait\n\nword : wait\n\nend');
    expect(time.waiting()).toEqual([]);
  });

  test('late headers: begins with the initial filler, and uses the other after the first piece', async () => {
    const time = handTimer();
    const gates = [latch(), latch()] as const;
    async function* slow() {
      await gates[0].promise;
      yield 'word ';
      await gates[1].promise;
    }
    const keepAlive = { milliseconds: 5000, filler: 'ping ', initialFiller: 'wait ', immediately: true };
    const one = await play(slow(), { keepAlive, startTimer: time.startTimer });
    await one.until('wait ');
    time.pass(5000);
    await one.until('wait \r\n5\r\nwait ');
    gates[0].open();
    await one.until('word');
    time.pass(5000);
    gates[1].open();
    await one.until('0\r\n\r\n');
    expect(chunks(one).join('')).toBe('wait wait word ping ');
  });

  test('writes status comments at once and at intervals, until there are none', async () => {
    const time = handTimer();
    const gate = latch();
    async function* late() {
      await gate.promise;
      yield 'word';
    }
    const sayings = ['second ', '', 'first ', undefined];
    const statusComments = { milliseconds: 1000, next: () => sayings.shift() };
    const one = await play(late(), { statusComments, startTimer: time.startTimer });
    await one.until('second');
    time.pass(1000);
    time.pass(1000);
    await one.until('first');
    time.pass(1000);
    expect([sayings, time.waiting()]).toEqual([[], []]);
    gate.open();
    await one.until('0\r\n\r\n');
    expect(chunks(one).join('')).toBe('second first word');
  });

  test('writes no status comment after the end', async () => {
    const time = handTimer();
    async function* short() {
      yield 'word';
    }
    const statusComments = { milliseconds: 1000, next: () => '' };
    const one = await play(short(), { statusComments, startTimer: time.startTimer });
    await one.until('0\r\n\r\n');
    expect(time.waiting()).toEqual([]);
  });
});

describe('write stall', () => {
  const settled = async (made: () => number): Promise<void> => {
    for (let before = -1; before !== made(); ) {
      before = made();
      for (let round = 0; round < 50; round += 1) await new Promise((resolve) => setImmediate(resolve));
    }
  };

  function endlessEndpoint() {
    let made = 0;
    const ended = latch();
    async function* endless() {
      try {
        for (;;) {
          made += 1;
          yield Buffer.alloc(65_536);
        }
      } finally {
        ended.open();
      }
    }
    const work = endpoint(() => ({ status: 200, stream: endless() }), { method: 'GET' });
    return { work, ended: ended.promise, made: () => made };
  }

  test.each([
    ['plain', {}],
    ['TLS', { tls: testTls }],
  ])('write stall: ends a stream whose client takes nothing (%s)', async (_, options) => {
    const time = handTimer();
    const { work, ended, made } = endlessEndpoint();
    const world = await serve([work], { startTimer: time.startTimer, stallTimeoutSeconds: 7, ...options });
    const one = 'tls' in options ? new Wire(dialTls(world)) : wire(world);
    one.send(get);
    await one.until('200 OK');
    one.socket.pause();
    await settled(made);
    // The first look may still find progress since the block; the second does not.
    time.pass(7000);
    time.pass(7000);
    await ended;
    expect(world.errors).toEqual([]);
  });

  test('write stall: does not end a slow reader', async () => {
    const time = handTimer();
    const { work, made } = endlessEndpoint();
    const one = wire(await serve([work], { startTimer: time.startTimer, stallTimeoutSeconds: 7 })).send(get);
    await one.until('200 OK');
    for (let round = 0; round < 3; round += 1) {
      one.socket.pause();
      await settled(made);
      time.pass(7000);
      const before = made();
      one.socket.resume();
      while (made() < before + 100) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(one.socket.destroyed).toBe(false);
  });

  test('write stall: 0 disables the limit', async () => {
    const time = handTimer();
    const { work, made } = endlessEndpoint();
    const one = wire(await serve([work], { startTimer: time.startTimer, stallTimeoutSeconds: 0 })).send(get);
    await one.until('200 OK');
    one.socket.pause();
    await settled(made);
    expect(time.waiting()).toEqual([]);
  });

  test('write stall: closes the connection of a client that does not read a whole body', async () => {
    const time = handTimer();
    const answered = latch();
    const work = endpoint(
      () => {
        setImmediate(() => answered.open());
        return { status: 200, body: Buffer.alloc(64 * 2 ** 20) };
      },
      { method: 'GET' },
    );
    const one = wire(await serve([work], { startTimer: time.startTimer, stallTimeoutSeconds: 7 }));
    one.socket.pause();
    one.send(get);
    await answered.promise;
    for (let round = 0; round < 200; round += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(time.waiting()).toEqual([7000]);
    time.pass(7000);
    time.pass(7000);
    one.socket.resume();
    await one.closed;
    expect(one.socket.bytesRead).toBeLessThan(64 * 2 ** 20);
  });

  test('write stall: holds nothing of a connection that was closed before the reply', async () => {
    const time = handTimer();
    const started = latch();
    const replied = latch();
    const work = endpoint(
      async ({ signal }) => {
        started.open();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        setImmediate(() => replied.open());
        return { status: 200, body: 'too late' };
      },
      { method: 'GET' },
    );
    const one = wire(await serve([work], { startTimer: time.startTimer, stallTimeoutSeconds: 7 })).send(get);
    await started.promise;
    one.socket.destroy();
    await replied.promise;
    expect(time.waiting()).toEqual([]);
  });
});

function dialTls({ port }: { readonly port: number }) {
  return connect({ port, host: '127.0.0.1', ca: testTls.certificate });
}

test('send: ends a stream whose head cannot be written', async () => {
  const ended = latch();
  const stream = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise<IteratorResult<string>>(() => undefined),
      return: async () => {
        ended.open();
        return { done: true as const, value: undefined };
      },
    }),
  };
  const work = endpoint(() => ({ status: 200, headers: { 'x-name': 'a\nb' }, stream }), { method: 'GET' });
  const one = wire(await serve([work])).send(get);
  await one.until('HTTP/1.1 500');
  await ended.promise;
});
