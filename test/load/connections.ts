import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';

export interface HeldConnection {
  readonly socket: Socket;
  closed: boolean;
}

/** Connections that have asked once and are kept open. */
export function idleConnections(port: number, count: number): Promise<readonly HeldConnection[]> {
  return Promise.all(Array.from({ length: count }, () => idleConnection(port)));
}

function idleConnection(port: number): Promise<HeldConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const held = { socket, closed: false };
    socket.once('close', () => {
      held.closed = true;
    });
    socket.once('error', reject);
    socket.once('data', () => resolve(held));
    socket.write('GET /ping HTTP/1.1\r\nhost: localhost\r\n\r\n');
  });
}

export interface OpenStream {
  /** Settles when this many bytes are here. */
  received(bytes: number): Promise<void>;
  /** The whole body, or undefined if the connection was cut. */
  readonly body: Promise<string | undefined>;
  /** All that came so far. */
  text(): string;
  readonly status: Promise<number>;
  pause(): void;
  resume(): void;
  cut(): void;
}

/** A POST on a connection of its own, whose reader can pause. */
export function openStream(port: number, path: string, body: object, headers: object = {}): OpenStream {
  const text = JSON.stringify(body);
  let received = '';
  const waiting: (() => void)[] = [];
  const wake = (): void => {
    for (const look of waiting.splice(0)) look();
  };
  const outgoing = request({
    host: '127.0.0.1',
    port,
    path,
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers },
  });
  let incoming: { pause(): void; resume(): void } | undefined;
  let paused = false;
  const status = new Promise<number>((resolve) => {
    outgoing.once('response', ({ statusCode = 0 }) => resolve(statusCode));
    outgoing.once('error', () => resolve(0));
  });
  const whole = new Promise<string | undefined>((resolve) => {
    outgoing.once('error', () => resolve(undefined));
    outgoing.once('response', (response) => {
      incoming = response;
      response.setEncoding('utf8').on('data', (piece: string) => {
        received += piece;
        wake();
      });
      response.once('end', () => resolve(received));
      response.once('error', () => resolve(undefined));
      response.once('close', () => resolve(undefined));
      if (paused) response.pause();
    });
  });
  void whole.then(() => wake());
  outgoing.end(text);
  return {
    status,
    body: whole,
    text: () => received,
    received: async (bytes) => {
      let over = false;
      void whole.then(() => {
        over = true;
      });
      while (received.length < bytes && !over) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    pause: () => {
      paused = true;
      incoming?.pause();
    },
    resume: () => {
      paused = false;
      incoming?.resume();
    },
    cut: () => void outgoing.destroy(),
  };
}

/** How many connections a server on this port of 127.0.0.1 has open, as Linux counts them. */
export function openConnections(port: number): number {
  const own = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const established = '01';
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, local, , state]) => local === own && state === established).length;
}

/** Whether the numbered words of the fake engine are all there, in order. Some dialects repeat the whole text at the end. */
export function hasAllWords(text: string | undefined, count: number): boolean {
  if (text === undefined) return false;
  let next = 0;
  for (const [, number] of text.matchAll(/\bw(\d+)\b/g)) {
    if (Number(number) !== next % count) return false;
    next += 1;
  }
  return next >= count && next % count === 0;
}
