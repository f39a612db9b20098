import { describe, expect, test } from 'vitest';
import type { Asides, KeepAlive } from './call.ts';
import { endpoint, handTimer, latch, serve, type Wire, wire } from './testing/world.ts';
import type { StartTimer } from './timers.ts';

const get = 'GET /work HTTP/1.1\r\nhost: localhost\r\n\r\n';

async function play(
  stream: AsyncIterable<string | Uint8Array>,
  more: {
    readonly keepAlive?: KeepAlive;
    readonly asides?: Asides;
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

describe('a stream', () => {
  test('sends its head before anything is there', async () => {
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

  test('gathers what is ready at once into one write, and writes the rest as it comes', async () => {
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

  test('keeps texts and bytes in order', async () => {
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

  test('of bytes waits for a client that does not read', async () => {
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

  test('keeps letters whole', async () => {
    async function* letters() {
      yield 'grüße ';
      yield '🙂';
    }
    const one = await play(letters());
    await one.until('0\r\n\r\n');
    expect(chunks(one)).toEqual(['grüße 🙂']);
  });

  test('leaves the connection open for the next one', async () => {
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

  test('to an old client ends with the connection', async () => {
    async function* pieces() {
      yield 'plain';
    }
    const one = await play(pieces(), { before: 'GET /work HTTP/1.0\r\n\r\n' });
    await one.closed;
    expect(one.received).toMatch(/\r\n\r\nplain$/);
  });

  test('is not pulled while the client does not read, and goes on when it does', async () => {
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

  test('of endless ready pieces still lets the client leave', async () => {
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

  test('writes a filler when it has been silent, and only then', async () => {
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

  test('says something aside at once and from time to time, until there is nothing more to say', async () => {
    const time = handTimer();
    const gate = latch();
    async function* late() {
      await gate.promise;
      yield 'word';
    }
    const sayings = ['second ', '', 'first ', undefined];
    const asides = { milliseconds: 1000, next: () => sayings.shift() };
    const one = await play(late(), { asides, startTimer: time.startTimer });
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

  test('says nothing more aside once it is over', async () => {
    const time = handTimer();
    async function* short() {
      yield 'word';
    }
    const asides = { milliseconds: 1000, next: () => '' };
    const one = await play(short(), { asides, startTimer: time.startTimer });
    await one.until('0\r\n\r\n');
    expect(time.waiting()).toEqual([]);
  });
});
