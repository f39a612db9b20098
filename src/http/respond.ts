import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestObserver } from '../core/request-observer.ts';
import { bodyPending } from './body.ts';
import type { Headers, Reply } from './call.ts';
import type { Guard } from './guard.ts';
import { securityHeaders } from './pages.ts';
import { type StallOptions, watchWrites, writeStream } from './stream.ts';

export interface RespondDeps extends StallOptions {
  readonly guard: Guard;
  readonly lingerMilliseconds: number;
}

interface Respondent {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
  readonly id: string;
  readonly watch: RequestObserver | undefined;
  /** Whether the client is still sending an unread body. */
  readonly linger: boolean;
}

/** Writes one reply under the headers that every response carries. */
export async function send(deps: RespondDeps, respondent: Respondent, reply: Reply): Promise<void> {
  const { request, response, signal, id, watch } = respondent;
  const early = bodyPending(request);
  const headers = merged({ ...commonHeaders(deps.guard, request), 'x-request-id': id }, reply.headers ?? {});
  // The rest of the body must not be read as the next request.
  if (early) headers.connection = 'close';

  if ('stream' in reply) {
    try {
      response.writeHead(reply.status, headers);
    } catch (error) {
      discard(reply);
      throw error;
    }
    watch?.replied?.(reply.status, headers);
    const { stream, keepAlive, statusComments } = reply;
    const stalls = () => watchWrites(request.socket, deps);
    const wrote = watch?.wrote && ((piece: string | Uint8Array) => watch.wrote?.(piece));
    const { startTimer } = deps;
    return writeStream(response, stream, { signal, keepAlive, statusComments, startTimer, watchWrites: stalls, wrote });
  }
  if (reply.status >= 200 && reply.status !== 204 && reply.status !== 304)
    headers['content-length'] = String(Buffer.byteLength(reply.body));
  response.writeHead(reply.status, headers);
  watch?.replied?.(reply.status, headers);
  if (reply.body.length > 0) watch?.wrote?.(reply.body);
  const stall = watchWrites(request.socket, deps);
  response.once('close', stall.cancel);
  if (!early) return void response.end(reply.body);
  if (reply.body.length > 0) response.write(reply.body);
  else response.flushHeaders();
  if (respondent.linger) await drained(request, deps);
  response.end();
}

/** Ends the stream of a reply that is not sent. */
export function discard(reply: Reply): void {
  if ('stream' in reply) Promise.resolve(reply.stream[Symbol.asyncIterator]().return?.()).catch(() => undefined);
}

/** Drops the rest of a body for a while: closing would reset the connection of a client that sends before it reads. */
function drained(request: IncomingMessage, { startTimer, lingerMilliseconds }: RespondDeps): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      resolve();
    };
    const timer = startTimer(lingerMilliseconds, done);
    request.once('end', done).once('close', done).resume();
    if (request.destroyed) done();
  });
}

function commonHeaders(guard: Guard, { headers }: IncomingMessage): Record<string, string> {
  const { origin } = headers;
  const permission = origin === undefined ? 'plain' : guard.permission(origin, headers);
  const cors = corsHeaders(origin, permission, headers['access-control-request-headers']);
  return { server: 'Parley', 'cache-control': 'no-store', ...securityHeaders, ...cors };
}

/** The reply's own headers win, whatever the case of their names; only `vary` adds up. */
function merged(common: Record<string, string>, own: Readonly<Record<string, string>>): Record<string, string> {
  const headers = { ...common };
  for (const [name, value] of Object.entries(own)) {
    const key = name.toLowerCase();
    headers[key] = key === 'vary' ? `${common.vary}, ${value}` : value;
  }
  return headers;
}

/** CORS headers. Without an Origin header `*` is safe, because it never covers requests with credentials. */
export function corsHeaders(
  origin: string | undefined,
  permission: ReturnType<Guard['permission']>,
  requested = '',
): Headers {
  if (origin === undefined) return { 'access-control-allow-origin': '*', ...allowances('*', requested), ...vary };
  if (permission === 'none') return vary;
  return {
    'access-control-allow-origin': origin,
    ...(permission === 'credentials' ? { 'access-control-allow-credentials': 'true' } : {}),
    ...allowances(allMethods, requested),
    ...vary,
  };
}

/** Always sent: caches must not serve the response of one origin to another. */
const vary = { vary: 'Origin' };

// `*` does not cover Authorization, and nothing at all if credentials are sent.
const allMethods = '*, GET, POST, DELETE, OPTIONS, HEAD, PUT';
const defaultHeaders =
  '*, Accept, Content-Type, Content-Length, Cache-Control, Accept-Encoding, X-CSRF-Token, Client-Agent, X-Fields, ' +
  'Content-Type, Authorization, X-Requested-With, X-HTTP-Method-Override, apikey, genkey';

/** Allows all headers that the browser asks for (`access-control-request-headers`): the official clients have dozens. */
function allowances(methods: string, requested: string): Headers {
  const names = requested.split(',').map((name) => name.trim());
  const allowed = [defaultHeaders, ...names.filter((name) => headerName.test(name))].join(', ');
  return {
    'access-control-allow-methods': methods,
    'access-control-allow-headers': allowed,
    'access-control-allow-private-network': 'true',
    'access-control-expose-headers': readableHeaders,
  };
}

/** `*` would not cover requests with credentials. */
const readableHeaders =
  'x-request-id, request-id, retry-after, x-parley-ignored, x-parley-dropped-tokens, x-parley-compacted, x-parley-warnings, ' +
  'x-parley-resumable, openai-poll-after-ms';

/** Only valid header names are echoed. */
const headerName = /^[\w!#$%&'*+.^`|~-]{1,100}$/;
