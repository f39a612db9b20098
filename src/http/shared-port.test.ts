import { connect as secure } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { json } from './call.ts';
import { testTls } from './testing/certificate.ts';
import { ask, endpoint, latch, serve, Wire, wire } from './testing/world.ts';

const info = endpoint(() => json({ fine: true }), { method: 'GET', path: '/info', access: 'open' });
const secureWire = (port: number): Wire =>
  new Wire(secure({ port, host: '127.0.0.1', ca: testTls.certificate, servername: 'localhost' }));
const head = 'GET /info HTTP/1.1\r\nhost: localhost:5001\r\n';

describe('HTTP and HTTPS on one port', () => {
  test('both are answered, also in turn on connections that stay open', async () => {
    const world = await serve([info], { tls: testTls, plainToo: true });
    const [plain, tls] = [wire(world), secureWire(world.port)];
    onTestFinished(() => void tls.socket.destroy());
    for (const one of [plain, tls, plain, tls]) {
      const seen = one.received.length;
      one.send(`${head}\r\n`);
      await expect.poll(() => one.received.slice(seen)).toContain('{"fine":true}');
    }
  });

  test('a handshake whose first byte comes alone is TLS', async () => {
    const world = await serve([info], { tls: testTls, plainToo: true });
    const carrier = wire(world);
    const client = secure({ socket: carrier.socket, ca: testTls.certificate, servername: 'localhost' });
    onTestFinished(() => void client.destroy());
    const one = new Wire(client).send(`${head}\r\n`);
    await one.until('{"fine":true}');
  });

  test('bytes that are neither are answered with 400', async () => {
    const world = await serve([info], { tls: testTls, plainToo: true });
    await wire(world).send('\u0015garbage\r\n\r\n').until('400 Bad Request');
    expect(world.errors).toEqual([]);
  });

  test('a connection that ends without a byte is closed', async () => {
    const world = await serve([info], { tls: testTls, plainToo: true });
    const one = wire(world);
    one.socket.end();
    await one.closed;
    expect((await ask(world, { path: '/info' })).status).toBe(200);
  });

  test('draining closes connections that have sent nothing', async () => {
    const world = await serve([info], { tls: testTls, plainToo: true });
    const one = wire(world);
    await ask(world, { path: '/info' });
    await world.drain();
    await one.closed;
  });
});

describe('a server with a certificate and no plain HTTP', () => {
  test('leads a browser to the same address with HTTPS', async () => {
    const world = await serve([info], { tls: testTls });
    const headers = { host: 'desk.local:5001', accept: 'text/html,*/*' };
    const { status, headers: reply } = await ask(world, { path: '/info?x=1', headers });
    expect([status, reply.location]).toEqual([308, 'https://desk.local:5001/info?x=1']);
  });

  test.each([
    ['a program', 'localhost:5001', 'This port speaks HTTPS only. Use https://localhost:5001'],
    ['a broken Host header', 'a b/@', 'This port speaks HTTPS only. Use https:// at the beginning of the address'],
  ])('tells %s about it', async (_, host, sentence) => {
    const told = latch<string>();
    const world = await serve([info], { tls: testTls, onRefused: ({ error }) => told.open(error.message) });
    const { status, text } = await ask(world, { path: '/info', headers: { host } });
    expect(status).toBe(426);
    expect(JSON.parse(text).detail.msg).toBe(sentence);
    expect(await told.promise).toContain('plain HTTP, and this port speaks HTTPS');
  });

  test('never runs a request that came without TLS', async () => {
    let runs = 0;
    const work = endpoint(() => json({ runs: ++runs }), { access: 'open' });
    const world = await serve([work], { tls: testTls });
    expect((await ask(world, { method: 'POST', path: '/work', body: '{}' })).status).toBe(426);
    expect(runs).toBe(0);
  });

  test('refuses a WebSocket without TLS', async () => {
    const world = await serve([info], { tls: testTls });
    const one = wire(world).send(`${head}connection: Upgrade\r\nupgrade: websocket\r\n\r\n`);
    await one.until('426');
    await one.closed;
  });
});
