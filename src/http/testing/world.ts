import { type IncomingHttpHeaders, request as plainRequest, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { AppError } from '../../core/errors.ts';
import type { StartTimer } from '../../core/timers.ts';
import { type Call, type Endpoint, json, type Reply } from '../call.ts';
import { createHttpServer, type HttpServerOptions } from '../server.ts';
import { testTls } from './certificate.ts';

/** A server on a free port of this machine, closed when the test ends. */
export interface World {
  readonly port: number;
  readonly errors: unknown[];
  close(): Promise<void>;
  drain(): Promise<void>;
}

export async function serve(endpoints: readonly Endpoint[], options: Partial<HttpServerOptions> = {}): Promise<World> {
  const errors: unknown[] = [];
  const server = createHttpServer({
    port: 0,
    host: '127.0.0.1',
    endpoints,
    onError: (error) => errors.push(error),
    ...options,
  });
  const { port } = await server.listen();
  onTestFinished(() => server.close());
  return { port, errors, close: () => server.close(), drain: () => server.drain() };
}

/** A dialect whose error replies have the code and the message of the error. */
export const dialect = {
  name: 'test',
  title: 'Test',
  errorReply: (error: AppError): Reply => json({ family: error.code, sentence: error.message }, error.status),
};

export function endpoint(handle: Endpoint['handle'], more: Partial<Endpoint> = {}): Endpoint {
  const shape = { method: 'POST', match: 'ending', path: '/work', access: 'guarded', rateLimited: true } as const;
  return { ...shape, summary: '', dialect, handle, ...more };
}

export const echo = endpoint((call: Call) => json({ path: call.path, body: call.body.toString() }));

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export function ask(
  world: World,
  options: RequestOptions & { readonly body?: string | Buffer; readonly tls?: boolean },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { body, tls, ...rest } = options;
    const where = { host: '127.0.0.1', port: world.port, agent: false, ...rest } as const;
    const outgoing = tls ? tlsRequest({ ...where, ca: testTls.certificate }) : plainRequest(where);
    outgoing.on('error', reject).on('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text });
      });
    });
    outgoing.end(body);
  });
}

/** A bare connection for everything that a proper client would not do. */
export class Wire {
  received = '';
  readonly closed: Promise<void>;
  private readonly changed = new Set<() => void>();

  constructor(readonly socket: Socket) {
    socket.setEncoding('utf8').on('error', () => undefined);
    socket.on('data', (text: string) => {
      this.received += text;
      for (const look of this.changed) look();
    });
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    onTestFinished(() => void socket.destroy());
  }

  send(text: string): this {
    this.socket.write(text);
    return this;
  }

  /** Resolves once the text was received, in any chunks. */
  until(text: string): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!this.received.includes(text)) return;
        this.changed.delete(look);
        resolve();
      };
      this.changed.add(look);
      look();
    });
  }
}

export function wire(world: World): Wire {
  return new Wire(connect(world.port, '127.0.0.1'));
}

/** A clock that the test advances. */
export function handTimer(): {
  readonly startTimer: StartTimer;
  pass(milliseconds: number): void;
  waiting(): number[];
} {
  const timers = new Map<object, { readonly milliseconds: number; readonly passed: () => void }>();
  return {
    startTimer(milliseconds, passed) {
      const timer = {
        restart: () => void timers.set(timer, { milliseconds, passed }),
        cancel: () => void timers.delete(timer),
      };
      timer.restart();
      return timer;
    },
    pass(milliseconds) {
      for (const [timer, waiting] of [...timers]) {
        if (waiting.milliseconds !== milliseconds) continue;
        timers.delete(timer);
        waiting.passed();
      }
    },
    waiting: () => [...timers.values()].map(({ milliseconds }) => milliseconds),
  };
}

/** A promise that is settled from outside. */
export function latch<Value = void>(): { readonly promise: Promise<Value>; open(value: Value): void } {
  let open: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((resolve) => {
    open = resolve;
  });
  return { promise, open: (value) => open(value) };
}
