import { EventEmitter } from 'node:events';
import { connect } from 'node:net';
import { connect as secure } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { json } from './call.ts';
import { testTls } from './testing/certificate.ts';
import { ask, dialect, echo, endpoint, handTimer, latch, serve, type World, wire } from './testing/world.ts';
import { type LiveSocket, liveSocket, type SocketCall, type SocketEndpoint } from './web-socket.ts';

const socketAt = (open: SocketEndpoint['open'], more: Partial<SocketEndpoint> = {}): SocketEndpoint => ({
  match: 'ending',
  path: '/ws',
  access: 'guarded',
  summary: '',
  dialect,
  open,
  ...more,
});

/** Answers each message with itself. */
const echoing = socketAt((_, socket) => socket.onMessage((message) => socket.send(message)));

const upgradeHead =
  'GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n' +
  'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

function connectTo(world: World, path = '/ws', headers: Record<string, string> = {}, tls = false) {
  const address = `${tls ? 'wss' : 'ws'}://127.0.0.1:${world.port}${path}`;
  const client = new WebSocket(address, {
    headers,
    ...(tls && { ca: testTls.certificate, rejectUnauthorized: false }),
  });
  onTestFinished(() => client.terminate());
  const messages: (string | Buffer)[] = [];
  const waiting: ((message: string | Buffer) => void)[] = [];
  client.on('message', (data: Buffer, binary: boolean) => {
    const message = binary ? data : data.toString();
    const next = waiting.shift();
    if (next) next(message);
    else messages.push(message);
  });
  const closed = new Promise<number>((resolve) => client.on('close', (code) => resolve(code)));
  const refused = new Promise<number>((resolve) =>
    client.on('unexpected-response', (_, reply) => resolve(reply.statusCode ?? 0)),
  );
  client.on('error', () => undefined);
  return {
    client,
    closed,
    refused,
    opened: new Promise<void>((resolve) => client.on('open', () => resolve())),
    next: () =>
      new Promise<string | Buffer>((resolve) => {
        const message = messages.shift();
        if (message === undefined) waiting.push(resolve);
        else resolve(message);
      }),
  };
}

describe('WebSocket: an endpoint that loads', () => {
  test('messages sent before it is loaded: are answered after that', async () => {
    const gate = latch<void>();
    const world = await serve([], { sockets: [{ ...echoing, load: () => gate.promise }] });
    const client = connect(world.port, '127.0.0.1');
    onTestFinished(() => void client.destroy());
    const received: Buffer[] = [];
    const answered = new Promise<string>((resolve) =>
      client.on('data', (data) => {
        received.push(data);
        const all = Buffer.concat(received).toString('latin1');
        if (all.includes('two')) resolve(all);
      }),
    );
    // Frames of a hasty client, with a mask of zeros.
    const frame = (text: string) =>
      Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
    client.write(Buffer.concat([Buffer.from(upgradeHead), frame('one'), frame('two')]));
    await expect.poll(() => client.bytesWritten).toBeGreaterThan(0);
    expect(received).toEqual([]);
    gate.open();
    expect(await answered).toMatch(/^HTTP\/1\.1 101 [\s\S]*one[\s\S]*two/);
  });

  test('a client that disconnects meanwhile is not an error', async () => {
    const [began, gate] = [latch(), latch()];
    const load = () => {
      began.open();
      return gate.promise;
    };
    const world = await serve([echo], { sockets: [{ ...echoing, load }] });
    const client = connect(world.port, '127.0.0.1');
    client.on('error', () => undefined).write(upgradeHead);
    await began.promise;
    client.resetAndDestroy();
    expect((await ask(world, { method: 'POST', path: '/work', body: 'x' })).status).toBe(200);
    gate.open();
    // The server closes when it has seen the end of every connection, this one included.
    await world.close();
    expect(world.errors).toEqual([]);
  });

  test('a load that fails: is refused, and the next connection tries again', async () => {
    let times = 0;
    const load = async (): Promise<void> => {
      times += 1;
      if (times === 1) throw new Error('too many open files');
    };
    const world = await serve([], { sockets: [{ ...echoing, load }] });
    expect(await connectTo(world).refused).toBe(500);
    await connectTo(world).opened;
    expect(times).toBe(2);
  });
});

describe('WebSocket', () => {
  test('a listener that returns a promise: gets the next message when it is settled', async () => {
    const seen: string[] = [];
    const latches = [latch<void>(), latch<void>()];
    const slow = socketAt((_, socket) =>
      socket.onMessage(async (message) => {
        const place = seen.push(`begin ${message}`);
        await latches[place === 1 ? 0 : 1]?.promise;
        seen.push(`end ${message}`);
        socket.send('handled');
      }),
    );
    const world = await serve([], { sockets: [slow] });
    const { client, opened, next } = connectTo(world);
    await opened;
    client.send('a');
    client.send('b');
    await expect.poll(() => seen).toEqual(['begin a']);
    latches[0]?.open();
    await next();
    await expect.poll(() => seen).toEqual(['begin a', 'end a', 'begin b']);
    latches[1]?.open();
    await next();
  });

  test('a listener that rejects: the connection is closed with 1011', async () => {
    const failing = socketAt((_, socket) => socket.onMessage(() => Promise.reject(new Error('no'))));
    const world = await serve([], { sockets: [failing] });
    const { client, opened, closed } = connectTo(world);
    await opened;
    client.send('a');
    expect(await closed).toBe(1011);
    expect(world.errors).toHaveLength(1);
  });

  test('written: waits while the client does not read', async () => {
    const seen = latch<LiveSocket>();
    const world = await serve([], { sockets: [socketAt((_, socket) => seen.open(socket))] });
    const { client, opened } = connectTo(world);
    await opened;
    const socket = await seen.promise;
    await socket.written();
    client.pause();
    for (let count = 0; count < 32; count += 1) socket.send(Buffer.alloc(2 ** 20));
    let written = false;
    const waiting = socket.written().then(() => {
      written = true;
    });
    await ask(world, { path: '/' });
    expect(written).toBe(false);
    client.resume();
    await waiting;
  });

  test('sends and receives texts and bytes', async () => {
    const world = await serve([], { sockets: [echoing] });
    const { client, opened, next } = connectTo(world);
    await opened;
    client.send('Grüße');
    expect(await next()).toBe('Grüße');
    client.send(Buffer.from([1, 2, 255]));
    expect(await next()).toEqual(Buffer.from([1, 2, 255]));
  });

  test('has the path, the query and the client address', async () => {
    const seen = latch<SocketCall>();
    const world = await serve([], { sockets: [socketAt((call) => seen.open(call))] });
    connectTo(world, '/prefix/ws?clientId=7');
    const call = await seen.promise;
    expect([call.path, call.query.get('clientId'), call.remoteAddress]).toEqual(['/prefix/ws', '7', '127.0.0.1']);
  });

  test('works over TLS', async () => {
    const world = await serve([], { sockets: [echoing], tls: testTls });
    const { client, opened, next } = connectTo(world, '/ws', {}, true);
    await opened;
    client.send('safe');
    expect(await next()).toBe('safe');
  });

  test('reports the close of either side', async () => {
    const sockets: LiveSocket[] = [];
    const world = await serve([], { sockets: [socketAt((_, socket) => void sockets.push(socket))] });
    const first = connectTo(world);
    await first.opened;
    first.client.terminate();
    await ended(sockets[0] as LiveSocket);
    const second = connectTo(world);
    await second.opened;
    sockets[1]?.close(4000, 'enough');
    expect(await second.closed).toBe(4000);
    await ended(sockets[1] as LiveSocket);
    expect(() => sockets[1]?.send('too late')).not.toThrow();
  });

  test('is closed when the server closes', async () => {
    const world = await serve([], { sockets: [echoing] });
    const { opened, closed } = connectTo(world);
    await opened;
    await world.close();
    expect(await closed).toBe(1006);
  });

  test('an exception of its endpoint closes only this connection', async () => {
    const world = await serve([echo], {
      sockets: [
        socketAt((call, socket) => {
          if (call.query.has('now')) throw new Error('at once');
          socket.onMessage(() => {
            throw new Error('later');
          });
        }),
      ],
    });
    expect(await connectTo(world, '/ws?now=1').closed).toBe(1011);
    const second = connectTo(world);
    await second.opened;
    second.client.send('x');
    expect(await second.closed).toBe(1011);
    expect(world.errors.map((error) => (error as Error).message)).toEqual(['at once', 'later']);
  });

  test('a message above the limit closes it', async () => {
    const world = await serve([], { sockets: [echoing], maxRequestMegabytes: 1 });
    const { client, opened, closed } = connectTo(world);
    await opened;
    client.send(Buffer.alloc(2 * 2 ** 20));
    expect(await closed).toBe(1009);
  });

  test('is terminated without a pong before the next ping', async () => {
    const { startTimer, pass } = handTimer();
    const sockets: LiveSocket[] = [];
    const world = await serve([], { sockets: [socketAt((_, socket) => void sockets.push(socket))], startTimer });
    const { client, opened } = connectTo(world);
    await opened;
    const pinged = new Promise((resolve) => client.on('ping', resolve));
    pass(30_000);
    await pinged;
    // The socket underneath falls silent: no pong gets out any more.
    client.pause();
    const silent = new WebSocket(`ws://127.0.0.1:${world.port}/ws`, { autoPong: false });
    onTestFinished(() => silent.terminate());
    await new Promise((resolve) => silent.on('open', resolve));
    const asked = new Promise((resolve) => silent.on('ping', resolve));
    pass(30_000);
    await asked;
    pass(30_000);
    await ended(sockets[1] as LiveSocket);
  });
});

describe('WebSocket: client that never reads', () => {
  /** An open connection of which nothing is read any more. */
  async function deaf() {
    const live = latch<LiveSocket>();
    const world = await serve([], {
      sockets: [socketAt((_, socket) => live.open(socket))],
    });
    const client = wire(world).send(upgradeHead);
    await client.until('101 Switching Protocols');
    client.socket.pause();
    return { live: await live.promise };
  }

  test('WebSocket: sends no further pongs while earlier ones are unsent', () => {
    let pongs = 0;
    const socket = Object.assign(new EventEmitter(), {
      OPEN: 1,
      readyState: 1,
      bufferedAmount: 0,
      // Nothing of it is ever taken.
      pong(data: Buffer) {
        pongs += 1;
        socket.bufferedAmount += data.length + 2;
      },
    });
    const parts = {
      startTimer: handTimer().startTimer,
      maxWaitingBytes: 1,
      pingMilliseconds: 1,
      onError: () => undefined,
    };
    liveSocket(socket as unknown as WebSocket, parts);
    for (let count = 0; count < 100_000; count += 1) socket.emit('ping', Buffer.alloc(125));
    expect(pongs).toBeLessThan(200);
    expect(socket.bufferedAmount).toBeLessThan(20_000);
  });

  test('WebSocket: is terminated when too much is unsent', async () => {
    const { live } = await deaf();
    for (let megabytes = 0; megabytes < 200 && !live.signal.aborted; megabytes += 1) {
      live.send(Buffer.alloc(2 ** 20));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await ended(live);
  });

  test('WebSocket: sendOrDrop drops messages for a slow client', async () => {
    const { live } = await deaf();
    for (let megabytes = 0; megabytes < 200; megabytes += 1) {
      live.sendOrDrop(Buffer.alloc(2 ** 20));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(live.signal.aborted).toBe(false);
  });

  test('WebSocket: a client that reads gets a pong for its ping', async () => {
    const world = await serve([], { sockets: [echoing] });
    const { client, opened } = connectTo(world);
    await opened;
    const pong = new Promise<Buffer>((resolve) => client.on('pong', resolve));
    client.ping('are you there');
    expect((await pong).toString()).toBe('are you there');
  });
});

describe('WebSocket: upgrade', () => {
  test.each([
    ['a page of another site', { origin: 'https://evil.example' }, {}, 403],
    ['a name that is not ours', { host: 'rebound.example' }, {}, 421],
    ['a client without the key', {}, { guard: { password: 'key' } }, 401],
  ])('rejects %s', async (_, headers, options, status) => {
    let opened = false;
    const world = await serve([], {
      sockets: [
        socketAt(() => {
          opened = true;
        }),
      ],
      ...options,
    });
    expect(await connectTo(world, '/ws', headers).refused).toBe(status);
    expect(opened).toBe(false);
  });

  test('accepts a client with the key, and a page of the same origin', async () => {
    const world = await serve([], { sockets: [echoing], guard: { password: 'key' } });
    await connectTo(world, '/ws', { authorization: 'Bearer key', origin: 'https://evil.example' }).opened;
    const own = await serve([], { sockets: [echoing] });
    await connectTo(own, '/ws', { origin: `http://127.0.0.1:${own.port}` }).opened;
  });

  test('answers 404 on an unknown path', async () => {
    const world = await serve([echo], { sockets: [echoing] });
    expect(await connectTo(world, '/other').refused).toBe(404);
  });
});

/** What Node warns about until the test ends. */
function nodeWarnings(): readonly string[] {
  const warnings: string[] = [];
  const warn = (warning: Error) => warnings.push(`${warning}`);
  process.on('warning', warn);
  onTestFinished(() => void process.off('warning', warn));
  return warnings;
}

describe('HTTP server: Upgrade to another protocol', () => {
  const ask = (body: string) =>
    `POST /work HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQ\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

  test('after many requests that are not answered yet: adds no listeners', async () => {
    const warnings = nodeWarnings();
    const gate = latch<void>();
    let begun = 0;
    const slow = endpoint(async () => {
      begun += 1;
      await gate.promise;
      return json({ last: begun });
    });
    const world = await serve([slow]);
    const client = wire(world).send('POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n'.repeat(20));
    client.send(ask(''));
    await expect.poll(() => begun).toBe(20);
    gate.open();
    await client.until('"last":21');
    expect(warnings).toEqual([]);
  });

  test.each([false, true])('repeated on one socket (TLS: %s): adds no listeners', async (tls) => {
    const world = await serve([echo], tls ? { tls: testTls } : {});
    const warnings = nodeWarnings();
    const client = tls
      ? secure({ port: world.port, host: '127.0.0.1', rejectUnauthorized: false })
      : connect(world.port, '127.0.0.1');
    onTestFinished(() => void client.destroy());
    let received = '';
    client.on('data', (data) => {
      received += data;
    });
    for (let turn = 1; turn <= 40; turn++) {
      client.write('GET /work HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n');
      await expect.poll(() => received.split('HTTP/1.1 ').length, { interval: 2 }).toBe(turn + 1);
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
  });

  test('answers the plain request', async () => {
    const world = await serve([echo], { sockets: [echoing] });
    const client = wire(world).send(ask('hello'));
    await client.until('"body":"hello"');
    expect(client.received).toMatch(/^HTTP\/1\.1 200/);
  });

  test('also with a later body and a following request on the connection', async () => {
    const world = await serve([echo]);
    const whole = ask('0123456789');
    const client = wire(world).send(whole.slice(0, -5));
    await new Promise((resolve) => setImmediate(resolve));
    client.send(whole.slice(-5));
    await client.until('"body":"0123456789"');
    client.send('POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\nnext');
    await client.until('"body":"next"');
  });
});

describe('upgrade: resets and order on the connection', () => {
  test.each([false, true])('upgrade: survives a reset while ws is imported (TLS %s)', async (tls) => {
    const asked = latch();
    const imported = latch();
    const webSockets = async () => {
      asked.open();
      await imported.promise;
      return import('ws');
    };
    const world = await serve([echo], { sockets: [echoing], webSockets, ...(tls && { tls: testTls }) });
    const plain = connect(world.port, '127.0.0.1');
    const client = tls ? secure({ socket: plain, ca: testTls.certificate, servername: 'localhost' }) : plain;
    client.on('error', () => undefined).write(upgradeHead);
    await asked.promise;
    plain.resetAndDestroy();
    // The server closes when it has seen the end of every connection, this one included.
    for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
    expect((await ask(world, { method: 'POST', path: '/work', body: 'x', tls })).status).toBe(200);
    imported.open();
    await world.close();
  });

  test('upgrade: answers 500 and reports it when ws cannot be imported', async () => {
    const world = await serve([echo], {
      sockets: [echoing],
      webSockets: () => Promise.reject(new Error('no such package')),
    });
    expect(await connectTo(world).refused).toBe(500);
    expect(world.errors.map((error) => (error as Error).message)).toEqual(['no such package']);
  });

  test('upgrade: sends 101 after the responses of earlier requests on the connection', async () => {
    const gate = latch();
    const slow = endpoint(async () => {
      await gate.promise;
      return json({ slow: true });
    });
    const began = latch();
    const world = await serve([slow], {
      sockets: [echoing],
      webSockets: () => {
        began.open();
        return import('ws');
      },
    });
    const client = wire(world).send(
      `POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n${upgradeHead}`,
    );
    await began.promise;
    for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(client.received).toBe('');
    gate.open();
    await client.until('101 Switching Protocols');
    expect(client.received).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*\{"slow":true\}HTTP\/1\.1 101 /);
  });

  test.each([
    ['an unknown path', upgradeHead.replace('/ws', '/other'), '404'],
    ['CONNECT', 'CONNECT example.org:443 HTTP/1.1\r\nhost: example.org\r\n\r\n', '501'],
  ])('upgrade: rejects %s after the responses of earlier requests', async (_, second, status) => {
    const gate = latch();
    const began = latch();
    const slow = endpoint(async () => {
      began.open();
      await gate.promise;
      return json({ slow: true });
    });
    const world = await serve([slow], { sockets: [echoing] });
    const client = wire(world).send(`POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n${second}`);
    await began.promise;
    for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
    gate.open();
    await client.closed;
    expect(client.received).toMatch(new RegExp(`^HTTP/1\\.1 200 OK[\\s\\S]*\\{"slow":true\\}HTTP/1\\.1 ${status} `));
  });
});

function ended({ signal }: LiveSocket): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
