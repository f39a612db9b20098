import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { urlToHttpOptions } from 'node:url';
import type { RemoteAddress } from '../../config/remote.ts';
import { boundedBytes } from '../../core/bounded-bytes.ts';
import { hideSecrets } from '../../core/hide-secrets.ts';
import { tryParseJson } from '../../core/json.ts';
import { networkReason } from '../../core/network-error.ts';
import { type FailureType, RemoteFailure, statusFailure } from './failure.ts';

interface StreamSink {
  /** The headers of the response, and what stops reading from the connection, so that TCP slows the other side down. */
  head(headers: IncomingHttpHeaders, backpressure: Backpressure): void;
  /** Chunks of an event stream. */
  piece(text: string): void;
  /** A single JSON body, from a backend that does not stream. */
  whole(text: string): void;
  /** Whether the last event has come. A backend that does not end the response then is not waited for. */
  isOver?(): boolean;
}

export interface Backpressure {
  pause(): void;
  resume(): void;
}

interface AskOptions {
  readonly signal?: AbortSignal;
  /** Time-out for the whole response. */
  readonly milliseconds?: number;
  /** Maximum size of the body. */
  readonly bytes?: number;
}

const hour = 3_600_000;
const defaultLimits = {
  connectMs: 5000,
  /** Idle time-out of a stream. The prefill of a long prompt may take most of it. */
  silenceMs: hour,
  /** Time-out of a whole response. An image may take an hour. */
  answerMs: 1.5 * hour,
  /** An error is reported with as much of its body as came within this time. */
  errorBodyMs: 3000,
  /** For the end of a response after its last event. */
  endMs: 1000,
};
export type ConnectionLimits = typeof defaultLimits;

const maxErrorBytes = 64 * 1024;
const maxAnswerBytes = 32 * 2 ** 20;
const keepAlive = { keepAlive: true, maxFreeSockets: 256, scheduling: 'lifo' } as const;

/** Keep-alive connections to one backend. Each call has limits of time and bytes. Redirects are not followed: they would leak the key. */
export class BackendConnection {
  readonly #protocol: Pick<typeof http, 'Agent' | 'request'>;
  readonly #agent: http.Agent;
  /** What all requests have in common: reading the address again would be a good part of what a request costs. */
  readonly #common: http.RequestOptions;
  readonly #prefix: string;
  /** Origin for messages; the path may be secret. */
  readonly #origin: string;
  readonly #limits: ConnectionLimits;

  constructor(
    readonly target: Pick<RemoteAddress, 'base' | 'host'> & { readonly key?: string | undefined },
    limits: Partial<ConnectionLimits> = {},
  ) {
    this.#protocol = target.base.startsWith('https:') ? https : http;
    this.#origin = new URL(target.base).origin;
    this.#agent = new this.#protocol.Agent(keepAlive);
    const base = new URL(target.base);
    this.#prefix = base.pathname.replace(/\/$/, '');
    // Saves the agent from computing a server name, which only TLS needs.
    const servername = this.#protocol === http ? { servername: '' } : {};
    this.#common = { ...urlToHttpOptions(base), ...servername, agent: this.#agent };
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Resolves at the end of the response; rejects with a `RemoteFailure` or an error of the sink. Each of the signals ends it. */
  async stream(
    path: string,
    body: object,
    sink: StreamSink,
    signals: readonly AbortSignal[],
    headers: SentHeaders = {},
  ): Promise<void> {
    let paused = false;
    const timeout = { milliseconds: this.#limits.silenceMs, isPaused: () => paused };
    await this.#withTimeout(timeout, signals, async (all, restart) => {
      const { response, request } = await this.#asked('POST', path, jsonBody(body), all, headers);
      response.setEncoding('utf8');
      const isEvents = !String(response.headers['content-type']).includes('json');
      try {
        const setPaused = (value: boolean): void => {
          if (paused === value) return;
          paused = value;
          restart();
          if (value) response.pause();
          else response.resume();
        };
        sink.head(response.headers, { pause: () => setPaused(true), resume: () => setPaused(false) });
        const piece = (text: string): void => {
          restart();
          sink.piece(text);
        };
        if (isEvents) await flowing(response, request, { piece, isOver: sink.isOver }, this.#limits.endMs);
        else sink.whole((await this.#collected(response, maxAnswerBytes)).toString());
      } catch (error) {
        request.destroy();
        throw error;
      }
    });
  }

  async json(method: 'GET' | 'POST', path: string, body?: object, options: AskOptions = {}): Promise<unknown> {
    return this.#parsed(await this.#answer(method, path, body && jsonBody(body), options));
  }

  /** Succeeds for any 2xx response. */
  bytes(path: string, { method = 'GET', body, ...options }: AskOptions & { method?: 'GET' | 'POST'; body?: object }) {
    return this.#answer(method, path, body && jsonBody(body), options);
  }

  /** Sends a form and reads a JSON response. */
  async upload(path: string, form: FormData, options: AskOptions = {}): Promise<unknown> {
    const encoded = new Response(form);
    const type = encoded.headers.get('content-type') ?? '';
    const body = { type, bytes: Buffer.from(await encoded.arrayBuffer()) };
    return this.#parsed(await this.#answer('POST', path, body, options));
  }

  /** Authorization headers, for WebSockets. */
  get headers(): Readonly<Record<string, string>> {
    const { key } = this.target;
    return key === undefined ? {} : { authorization: `Bearer ${key}` };
  }

  close(): void {
    this.#agent.destroy();
  }

  async #answer(method: string, path: string, body: SentBody | undefined, options: AskOptions): Promise<Buffer> {
    const { signal, milliseconds = this.#limits.answerMs, bytes = maxAnswerBytes } = options;
    return this.#withTimeout({ milliseconds }, signal ? [signal] : [], async (signals) => {
      const { response } = await this.#asked(method, path, body, signals);
      const answer = await this.#collected(response, bytes);
      signal?.throwIfAborted();
      return answer;
    });
  }

  /** The time-out is restarted by the work, and does not run out during back-pressure, which the client causes. */
  async #withTimeout<Result>(
    { milliseconds, isPaused = () => false }: { readonly milliseconds: number; readonly isPaused?: () => boolean },
    signals: readonly AbortSignal[],
    work: (signals: readonly AbortSignal[], restart: () => void) => Promise<Result>,
  ): Promise<Result> {
    const late = new AbortController();
    const timer = setTimeout(() => (isPaused() ? timer.refresh() : late.abort()), milliseconds);
    try {
      const result = await work([...signals, late.signal], () => void timer.refresh());
      // A body that ends with its connection looks complete when the time-out closes that.
      late.signal.throwIfAborted();
      return result;
    } catch (error) {
      throw late.signal.aborted && !signals.some(({ aborted }) => aborted)
        ? this.#failed('no answer in time', 'unreachable')
        : this.#failure(error);
    } finally {
      clearTimeout(timer);
    }
  }

  #parsed(answer: Buffer): unknown {
    const value = tryParseJson(answer.toString());
    if (value === undefined) throw this.#failed('it is no JSON');
    return value;
  }

  #asked(
    method: string,
    path: string,
    body: SentBody | undefined,
    signals: readonly AbortSignal[],
    headers: SentHeaders = {},
  ) {
    return new Promise<{ readonly response: IncomingMessage; readonly request: ClientRequest }>((resolve, reject) => {
      const request = this.#protocol.request({
        ...this.#common,
        method,
        path: `${this.#prefix}${path}`,
        headers: {
          accept: 'application/json, text/event-stream, */*;q=0.1',
          'accept-encoding': 'identity',
          ...(body ? { 'content-type': body.type, 'content-length': body.bytes.length } : {}),
          ...headers,
          ...this.headers,
        },
      });
      endWith(request, signals);
      limitConnecting(request, this.#protocol === https ? 'secureConnect' : 'connect', this.#limits.connectMs);
      request.on('error', (error) => reject(this.#failure(error, request.reusedSocket)));
      request.once('response', (response) => {
        const { statusCode: status = 0, headers } = response;
        if (status >= 200 && status < 300) {
          if ((headers['content-encoding'] ?? 'identity') === 'identity') return resolve({ response, request });
          reject(this.#failed('it is compressed, which was not requested'));
          request.destroy();
        } else if (status < 400) {
          reject(this.#failed('it is a redirect to another address, and redirects are not followed'));
          request.destroy();
        } else void this.#refusal(response, status).then(reject, reject);
      });
      request.end(body?.bytes);
    });
  }

  async #refusal(response: IncomingMessage, status: number): Promise<RemoteFailure> {
    const sent = await beginningOf(response, maxErrorBytes, this.#limits.errorBodyMs);
    // It may repeat the request, with its key.
    const body = hideSecrets(sent, [this.target.key]);
    const retryAfter = response.headers['retry-after'];
    return statusFailure(this.target.host, { status, retryAfter, body, origin: this.#origin });
  }

  async #collected(response: IncomingMessage, most: number): Promise<Buffer> {
    const tooLarge = (): RemoteFailure => {
      response.destroy();
      return this.#failed(`it is larger than ${Math.floor(most / 2 ** 20)} MB`);
    };
    if (Number(response.headers['content-length'] ?? 0) > most) throw tooLarge();
    return boundedBytes(response, most, tooLarge);
  }

  #failed(message: string, type: FailureType = 'failed', facts: RemoteFailure['facts'] = {}): RemoteFailure {
    return new RemoteFailure(type, this.target.host, message, { origin: this.#origin, ...facts });
  }

  /** A reused connection that fails without a response was most likely closed by the backend before. */
  #failure(error: unknown, keptAndUnanswered = false): unknown {
    const { key } = this.target;
    if (error instanceof Error && key && error.message.includes(key)) error.message = hideSecrets(error.message, [key]);
    if (!isNetworkError(error)) return error;
    const stale = keptAndUnanswered && error.code === 'ECONNRESET';
    // The others are likely stale too: the next attempt opens a new one.
    if (stale) for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy();
    const unconnected = connectErrors.has(error.code);
    return this.#failed(networkReason(error) ?? error.message, 'unreachable', { stale, unconnected });
  }
}

type SentHeaders = Readonly<Record<string, string>>;
type SentBody = ReturnType<typeof jsonBody>;

function jsonBody(body: object) {
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(body)) };
}

/** Connection refused: nothing listens on the port. */
const connectErrors: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
]);

type NetworkError = Error & { readonly code: string };

function isNetworkError(error: unknown): error is NetworkError {
  return error instanceof Error && typeof (error as Partial<NetworkError>).code === 'string' && !('status' in error);
}

/** Ends a request when one of the signals aborts; cheaper than `AbortSignal.any` and the `signal` of requests. */
function endWith(request: ClientRequest, signals: readonly AbortSignal[]): void {
  const end = (): void => {
    request.destroy(Object.assign(new Error('aborted'), { name: 'AbortError', code: 'ABORT_ERR' }));
  };
  if (signals.some(({ aborted }) => aborted)) end();
  for (const signal of signals) signal.addEventListener('abort', end, { once: true });
  request.once('close', () => {
    for (const signal of signals) signal.removeEventListener('abort', end);
  });
}

/** Time-out for connecting only. */
function limitConnecting(request: ClientRequest, connected: string, milliseconds: number): void {
  request.once('socket', (socket) => {
    if (!socket.connecting) return;
    socket.setKeepAlive(true, 15_000);
    const late = Object.assign(new Error('no connection'), { code: 'ETIMEDOUT' });
    const timer = setTimeout(() => request.destroy(late), milliseconds);
    const done = (): void => clearTimeout(timer);
    socket.once(connected, done).once('close', done);
  });
}

/** Event listeners instead of an iterator, because this runs per token. An error of the listener ends the read. */
function flowing(
  response: IncomingMessage,
  request: ClientRequest,
  { piece, isOver }: Pick<StreamSink, 'piece'> & { readonly isOver: StreamSink['isOver'] },
  endMs: number,
): Promise<void> {
  let ending: NodeJS.Timeout | undefined;
  const read = new Promise<void>((resolve, reject) => {
    response.on('data', (text: string) => {
      try {
        piece(text);
      } catch (error) {
        reject(error);
        request.destroy();
      }
      if (ending || !isOver?.()) return;
      ending = setTimeout(() => {
        resolve();
        request.destroy();
      }, endMs);
    });
    response.once('end', resolve);
    response.once('error', reject);
    response.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
  });
  return read.finally(() => clearTimeout(ending));
}

/** Reads what arrives of a body within this time. */
async function beginningOf(response: IncomingMessage, most: number, milliseconds: number): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  const timer = setTimeout(() => response.destroy(), milliseconds);
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      pieces.push(piece);
      length += piece.length;
      if (length >= most) break;
    }
  } catch {
    // A truncated body: use what has arrived.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(pieces).subarray(0, most).toString();
}
