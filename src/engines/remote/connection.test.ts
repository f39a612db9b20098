import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { BackendConnection, type ConnectionLimits } from './connection.ts';
import { json, upstream } from './testing/upstream.ts';

const never = new AbortController().signal;
const quiet = { head: () => undefined, piece: () => undefined, whole: () => undefined };

async function connected(handlers: Parameters<typeof upstream>[0], limits: Partial<ConnectionLimits> = {}) {
  const one = await upstream(handlers);
  return { one, connection: new BackendConnection({ base: one.base, host: one.host, key: 'sk-1' }, limits) };
}

describe('BackendConnection', () => {
  test('sends the key and keeps the connection open', async () => {
    const ports = new Set<number | undefined>();
    const { one, connection } = await connected({
      '/a': (received, response) => {
        ports.add(response.socket?.remotePort);
        return json({ fine: true })(received, response);
      },
    });
    expect(await connection.json('POST', '/a', { x: 1 })).toEqual({ fine: true });
    expect(await connection.json('GET', '/a')).toEqual({ fine: true });
    expect(one.received[0]).toMatchObject({ body: { x: 1 }, headers: { authorization: 'Bearer sk-1' } });
    expect(ports.size).toBe(1);
    connection.close();
  });

  test('a stream has headers and chunks, or one JSON body', async () => {
    const { connection } = await connected({
      '/stream': (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'x-note': 'yes' });
        response.end('data: é\n\n');
      },
      '/whole': json({ a: 1 }),
    });
    const told: string[] = [];
    const sink = {
      head: (headers: Readonly<Record<string, unknown>>) => told.push(String(headers['x-note'])),
      piece: (text: string) => told.push(text),
      whole: (text: string) => told.push(text),
    };
    await connection.stream('/stream', {}, sink, [never]);
    await connection.stream('/whole', {}, sink, [never]);
    expect(told).toEqual(['yes', 'data: é\n\n', 'undefined', '{"a":1}']);
  });

  test('rejects with the message of an error, and for invalid JSON', async () => {
    const { connection } = await connected({
      '/no': json({ error: { message: 'too long' } }, 400),
      '/odd': (_, response) => void response.end('<html>'),
    });
    await expect(connection.json('GET', '/no')).rejects.toMatchObject({ type: 'refused', message: 'too long' });
    await expect(connection.stream('/no', {}, quiet, [never])).rejects.toMatchObject({ type: 'refused' });
    await expect(connection.json('GET', '/odd')).rejects.toMatchObject({ type: 'failed' });
    await expect(connection.bytes('/no', {})).rejects.toMatchObject({ type: 'refused' });
  });

  test('hides the key that an error of the backend repeats', async () => {
    const one = await upstream({
      '/no': ({ headers }, response) => json({ error: `wrong ${headers.authorization}` }, 400)({} as never, response),
      '/stream': (_, response) => void response.end('data: wrong Bearer sk-secret\n\n'),
    });
    const connection = new BackendConnection({ base: one.base, host: one.host, key: 'sk-secret' });
    await expect(connection.json('GET', '/no')).rejects.toThrow(/^wrong Bearer …$/);
    const failing = (text: string) => {
      throw new Error(text.trim());
    };
    const streamed = connection.stream('/stream', {}, { ...quiet, piece: failing }, [never]);
    await expect(streamed).rejects.toThrow(/^data: wrong Bearer …$/);
    connection.close();
  });

  test('an answer that ends with its connection is not complete when the time-out closes that', async () => {
    const { connection } = await connected(
      {
        '/open': (_, response) => {
          response.socket?.write('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{"begun":true}');
        },
      },
      { silenceMs: 50 },
    );
    const late = { type: 'unreachable', message: 'no answer in time' };
    await expect(connection.bytes('/open', { milliseconds: 50 })).rejects.toMatchObject(late);
    await expect(connection.stream('/open', {}, quiet, [never])).rejects.toMatchObject(late);
  });

  test('a stream that is not ended after its last event is not waited for', async () => {
    const { connection } = await connected(
      {
        '/open': (_, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: [DONE]\n\n');
        },
      },
      { endMs: 20 },
    );
    let said = '';
    const piece = (text: string): void => {
      said += text;
    };
    await connection.stream('/open', {}, { ...quiet, piece, isOver: () => said.includes('[DONE]') }, [never]);
    expect(said).toBe('data: [DONE]\n\n');
  });

  test('says why a host is not reachable', async () => {
    const { one, connection } = await connected({});
    await one.die();
    await expect(connection.json('GET', '/a')).rejects.toMatchObject({
      type: 'unreachable',
      message: 'connection refused',
      host: one.host,
    });
    const nowhere = new BackendConnection({ base: 'http://no-such-name.invalid:1', host: 'no-such-name.invalid:1' });
    await expect(nowhere.json('GET', '/a')).rejects.toMatchObject({ type: 'unreachable' });
  });

  test('times out and aborts', async () => {
    const { connection } = await connected({ '/slow': () => undefined });
    await expect(connection.json('GET', '/slow', undefined, { milliseconds: 1 })).rejects.toMatchObject({
      type: 'unreachable',
      message: 'no answer in time',
    });
    const stop = new AbortController();
    const asked = connection.stream('/slow', {}, quiet, [stop.signal]);
    stop.abort();
    await expect(asked).rejects.toMatchObject({ type: 'unreachable' });
  });

  test('an error of the sink ends the stream', async () => {
    const { connection } = await connected({
      '/stream': (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: x\n\n');
      },
    });
    const sink = {
      ...quiet,
      piece: () => {
        throw new Error('unreadable');
      },
    };
    await expect(connection.stream('/stream', {}, sink, [never])).rejects.toThrow('unreadable');
  });
});

describe('BackendConnection: a backend that misbehaves', () => {
  /** Writes as fast as it is read, until the connection is closed. */
  const flood =
    (status: number, headers: Readonly<Record<string, string>> = {}, sent = { bytes: 0, closed: false }) =>
    (_: unknown, response: ServerResponse): void => {
      sent.closed = false;
      response.writeHead(status, headers);
      response.on('close', () => {
        sent.closed = true;
      });
      const piece = 'x'.repeat(65_536);
      const more = (): void => {
        while (!sent.closed) {
          sent.bytes += piece.length;
          if (!response.write(piece)) return;
        }
      };
      response.on('drain', more);
      more();
    };

  test.each(['json', 'bytes', 'upload'] as const)('%s: gives up a body past its limit and closes it', async (way) => {
    const sent = { bytes: 0, closed: false };
    const { connection } = await connected({ '/big': flood(200, {}, sent) });
    const options = { bytes: 2 ** 20 };
    const asked = {
      json: () => connection.json('GET', '/big', undefined, options),
      bytes: () => connection.bytes('/big', options),
      upload: () => connection.upload('/big', new FormData(), options),
    }[way];
    await expect(asked()).rejects.toMatchObject({ type: 'failed', message: 'it is larger than 1 MB' });
    await expect.poll(() => sent.closed).toBe(true);
    expect(sent.bytes).toBeLessThan(16 * 2 ** 20);
  });

  test('rejects a body by its declared length before reading it', async () => {
    const { connection } = await connected({
      '/big': (_, response) => {
        response.writeHead(200, { 'content-length': '3000000' }).flushHeaders();
      },
    });
    await expect(connection.bytes('/big', { bytes: 2 ** 20 })).rejects.toThrow('larger than 1 MB');
  });

  test('keeps the start of an endless error body', async () => {
    const { connection } = await connected(
      {
        '/drip': (_, response) => {
          response.writeHead(400, { 'content-type': 'text/plain' });
          response.write('too long');
        },
        '/flood': flood(400),
      },
      { errorBodyMs: 30 },
    );
    await expect(connection.json('GET', '/drip')).rejects.toMatchObject({ type: 'refused', message: 'too long' });
    await expect(connection.json('GET', '/flood')).rejects.toMatchObject({ type: 'refused' });
  });

  test.each([301, 302, 303, 307, 308])('does not follow a redirect (%i)', async (status) => {
    const other = await upstream({ '/there': json({ secret: true }) });
    const { connection } = await connected({
      '/here': (_, response) => void response.writeHead(status, { location: `${other.base}/there` }).end(),
    });
    const redirected = { type: 'failed', message: expect.stringContaining('redirects are not followed') };
    await expect(connection.json('POST', '/here', { prompt: 'x' })).rejects.toMatchObject(redirected);
    await expect(connection.stream('/here', {}, quiet, [never])).rejects.toMatchObject(redirected);
    expect(other.received).toEqual([]);
  });

  test.each(['/here', 'file:///etc/hostname', 'ftp://127.0.0.1/x', 'http://169.254.169.254/', '//', ''])(
    'asks once, and nobody else, if it redirects to %j',
    async (location) => {
      const here = { asked: 0 };
      const { connection } = await connected({
        '/here': (_, response) => {
          here.asked += 1;
          response.writeHead(302, { location }).end();
        },
      });
      const redirected = { type: 'failed', message: expect.stringContaining('redirects are not followed') };
      await expect(connection.json('GET', '/here')).rejects.toMatchObject(redirected);
      await expect(connection.upload('/here', new FormData())).rejects.toMatchObject(redirected);
      expect(here.asked).toBe(2);
    },
  );

  test('rejects a compressed body', async () => {
    const { one, connection } = await connected({
      '/gzip': flood(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }),
    });
    await expect(connection.json('GET', '/gzip')).rejects.toMatchObject({ type: 'failed' });
    await expect(connection.stream('/gzip', {}, quiet, [never])).rejects.toThrow('compressed');
    expect(one.received[0]?.headers['accept-encoding']).toBe('identity');
  });

  test('rejects headers that are too large', async () => {
    const { connection } = await connected({
      '/a': (_, response) => void response.writeHead(200, { 'x-huge': 'x'.repeat(100_000) }).end('{}'),
    });
    await expect(connection.json('GET', '/a')).rejects.toMatchObject({ message: 'its headers are too large' });
  });

  test('times out a response that is too slow or never starts', async () => {
    const drip = (_: unknown, response: ServerResponse): void => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'), 5);
      response.on('close', () => clearInterval(timer));
    };
    const { connection } = await connected({ '/drip': drip, '/never': () => undefined }, { answerMs: 50 });
    for (const path of ['/drip', '/never']) {
      await expect(connection.json('GET', path)).rejects.toMatchObject({ message: 'no answer in time' });
    }
  });

  test('times out a silent stream, before or after its headers', async () => {
    const head = (_: unknown, response: ServerResponse): void => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
    };
    const { connection } = await connected({ '/head': head, '/never': () => undefined }, { silenceMs: 50 });
    for (const path of ['/head', '/never']) {
      await expect(connection.stream(path, {}, quiet, [never])).rejects.toMatchObject({ message: 'no answer in time' });
    }
  });

  test('reports a connection reset within a body', async () => {
    const reset = (_: unknown, response: ServerResponse): void => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-length': '1000' });
      response.write('data: x', () => response.socket?.resetAndDestroy());
    };
    const { connection } = await connected({ '/reset': reset });
    const closed = { type: 'unreachable', message: 'connection closed' };
    await expect(connection.json('GET', '/reset')).rejects.toMatchObject(closed);
    await expect(connection.stream('/reset', {}, quiet, [never])).rejects.toMatchObject(closed);
  });

  test('uploads a form and reads the response', async () => {
    const received: string[] = [];
    const { connection } = await connected({
      '/upload': (asked, response) => {
        received.push(String(asked.headers['content-type']));
        return json({ name: 'a.png' })(asked, response);
      },
    });
    const form = new FormData();
    form.set('type', 'input');
    expect(await connection.upload('/upload', form)).toEqual({ name: 'a.png' });
    expect(received[0]).toContain('multipart/form-data; boundary=');
  });
});
