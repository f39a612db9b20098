import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { RemoteFailure, statusFailure } from './failure.ts';
import { parsedJson } from './json.ts';

export interface Target {
  readonly base: string;
  readonly host: string;
  readonly key?: string | undefined;
}

export interface StreamSink {
  /** What stands in front of the body. */
  head(headers: IncomingHttpHeaders): void;
  /** The pieces of a body that is a stream of events. */
  piece(text: string): void;
  /** A body that is one JSON text, from an engine that does not stream. */
  whole(text: string): void;
}

export interface AskOptions {
  readonly signal?: AbortSignal;
  /** How long to wait for the whole answer; for ever unless told. */
  readonly milliseconds?: number;
}

const connectMs = 5000;
const longestError = 64 * 1024;
const longestAnswer = 256 * 2 ** 20;
const keepAlive = { keepAlive: true, maxFreeSockets: 256, scheduling: 'lifo' } as const;

/** Connections to one engine, which are kept open between requests. */
export class Connection {
  readonly #secure: boolean;
  readonly #agent: HttpAgent;

  constructor(readonly target: Target) {
    this.#secure = target.base.startsWith('https:');
    this.#agent = this.#secure ? new HttpsAgent(keepAlive) : new HttpAgent(keepAlive);
  }

  /** Resolves with the end of the reply, and rejects with a `RemoteFailure` or what the sink throws. */
  async stream(path: string, body: object, sink: StreamSink, signal: AbortSignal): Promise<void> {
    const { response, request } = await this.#asked('POST', path, body, { signal });
    response.setEncoding('utf8');
    const isEvents = !String(response.headers['content-type']).includes('json');
    try {
      sink.head(response.headers);
      if (isEvents) await flowing(response, request, (text) => sink.piece(text));
      else sink.whole(await gathered(response, longestAnswer));
    } catch (error) {
      request.destroy();
      throw this.#failure(error);
    }
  }

  async json(method: 'GET' | 'POST', path: string, body?: object, options: AskOptions = {}): Promise<unknown> {
    const { response } = await this.#asked(method, path, body, options);
    try {
      const value = parsedJson(await gathered(response.setEncoding('utf8'), longestAnswer));
      if (value === undefined) throw new RemoteFailure('failed', this.target.host, 'its answer is no JSON');
      return value;
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Whatever it answers, as long as it is not an error. */
  async bytes(path: string, options: AskOptions): Promise<Buffer> {
    const { response } = await this.#asked('GET', path, undefined, options);
    try {
      const pieces: Buffer[] = [];
      for await (const piece of response) pieces.push(piece as Buffer);
      return Buffer.concat(pieces);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #asked(
    method: string,
    path: string,
    body: object | undefined,
    { signal, milliseconds }: AskOptions,
  ): Promise<{ readonly response: IncomingMessage; readonly request: ClientRequest }> {
    const sent = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const until = milliseconds === undefined ? signal : anyOf(signal, AbortSignal.timeout(milliseconds));
    return new Promise((resolve, reject) => {
      const { key, base } = this.target;
      const request = (this.#secure ? httpsRequest : httpRequest)(`${base}${path}`, {
        method,
        agent: this.#agent,
        headers: {
          accept: 'application/json, text/event-stream',
          ...(sent ? { 'content-type': 'application/json', 'content-length': sent.length } : {}),
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        },
        ...(until ? { signal: until } : {}),
      });
      limitConnecting(request);
      request.on('error', (error) => reject(this.#failure(error, request.reusedSocket)));
      request.once('response', (response) => {
        if ((response.statusCode ?? 0) < 300) return resolve({ response, request });
        void this.#refusal(response).then(reject, reject);
      });
      request.end(sent);
    });
  }

  async #refusal(response: IncomingMessage): Promise<RemoteFailure> {
    const body = await gathered(response.setEncoding('utf8'), longestError).catch(() => '');
    const status = response.statusCode ?? 500;
    return statusFailure(this.target.host, { status, retryAfter: response.headers['retry-after'], body });
  }

  /** Without an answer on a connection that had been kept, it had most likely been closed over there. */
  #failure(error: unknown, keptAndUnanswered = false): unknown {
    if (!isNetworkError(error)) return error;
    const stale = keptAndUnanswered && error.code === 'ECONNRESET';
    return new RemoteFailure('unreachable', this.target.host, networkWords(error), { stale });
  }
}

const networkSentences: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses connections',
  ENOTFOUND: 'is not a name that is known here',
  EAI_AGAIN: 'is not a name that is known here',
  ETIMEDOUT: 'does not answer',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached',
  ECONNRESET: 'broke the connection',
  EPIPE: 'broke the connection',
  ABORT_ERR: 'does not answer',
};

type NetworkError = Error & { readonly code: string };

function isNetworkError(error: unknown): error is NetworkError {
  return error instanceof Error && typeof (error as Partial<NetworkError>).code === 'string' && !('status' in error);
}

function networkWords({ code, message }: NetworkError): string {
  return networkSentences[code] ?? `cannot be asked (${message})`;
}

/** Whoever does not even connect is not waited for; a reply may take as long as it takes. */
function limitConnecting(request: ClientRequest): void {
  request.once('socket', (socket) => {
    if (!socket.connecting) return;
    socket.setKeepAlive(true, 15_000);
    const late = Object.assign(new Error('no connection'), { code: 'ETIMEDOUT' });
    const timer = setTimeout(() => request.destroy(late), connectMs);
    const done = (): void => clearTimeout(timer);
    socket.once('connect', done).once('close', done);
  });
}

/** Events and not an iterator: this runs for each token. What the listener throws ends it. */
function flowing(response: IncomingMessage, request: ClientRequest, piece: (text: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    response.on('data', (text: string) => {
      try {
        piece(text);
      } catch (error) {
        reject(error);
        request.destroy();
      }
    });
    response.once('end', resolve);
    response.once('error', reject);
    response.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
  });
}

async function gathered(response: AsyncIterable<string>, most: number): Promise<string> {
  let text = '';
  for await (const piece of response) {
    text += piece;
    if (text.length > most) throw Object.assign(new Error('its answer has no end'), { code: 'TOO_LONG' });
  }
  return text;
}

function anyOf(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one ? AbortSignal.any([one, other]) : other;
}
