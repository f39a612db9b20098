import { describe, expect, test } from 'vitest';
import { Connection } from './connection.ts';
import { json, upstream } from './testing/upstream.ts';

const never = new AbortController().signal;
const quiet = { head: () => undefined, piece: () => undefined, whole: () => undefined };

async function connected(handlers: Parameters<typeof upstream>[0]) {
  const one = await upstream(handlers);
  return { one, connection: new Connection({ base: one.base, host: one.host, key: 'sk-1' }) };
}

describe('a connection to an engine elsewhere', () => {
  test('asks with its key, and is kept for the next question', async () => {
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

  test('tells the head of a stream and then its pieces, and a whole answer as one', async () => {
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
    await connection.stream('/stream', {}, sink, never);
    await connection.stream('/whole', {}, sink, never);
    expect(told).toEqual(['yes', 'data: é\n\n', 'undefined', '{"a":1}']);
  });

  test('gives a refusal with its words, and what is no JSON as a failure', async () => {
    const { connection } = await connected({
      '/no': json({ error: { message: 'too long' } }, 400),
      '/odd': (_, response) => void response.end('<html>'),
    });
    await expect(connection.json('GET', '/no')).rejects.toMatchObject({ type: 'refused', message: 'too long' });
    await expect(connection.stream('/no', {}, quiet, never)).rejects.toMatchObject({ type: 'refused' });
    await expect(connection.json('GET', '/odd')).rejects.toMatchObject({ type: 'failed' });
    await expect(connection.bytes('/no', {})).rejects.toMatchObject({ type: 'refused' });
  });

  test('says in words why nobody can be reached', async () => {
    const { one, connection } = await connected({});
    await one.die();
    await expect(connection.json('GET', '/a')).rejects.toMatchObject({
      type: 'unreachable',
      message: 'refuses connections',
      host: one.host,
    });
    const nowhere = new Connection({ base: 'http://no-such-name.invalid:1', host: 'no-such-name.invalid:1' });
    await expect(nowhere.json('GET', '/a')).rejects.toMatchObject({ type: 'unreachable' });
  });

  test('gives up an answer that takes too long, or that nobody wants any more', async () => {
    const { connection } = await connected({ '/slow': () => undefined });
    await expect(connection.json('GET', '/slow', undefined, { milliseconds: 1 })).rejects.toMatchObject({
      type: 'unreachable',
      message: 'does not answer',
    });
    const stop = new AbortController();
    const asked = connection.stream('/slow', {}, quiet, stop.signal);
    stop.abort();
    await expect(asked).rejects.toMatchObject({ type: 'unreachable' });
  });

  test('ends a stream whose reader cannot read it, with the reason', async () => {
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
    await expect(connection.stream('/stream', {}, sink, never)).rejects.toThrow('unreadable');
  });
});
