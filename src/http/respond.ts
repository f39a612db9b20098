import type { IncomingMessage, ServerResponse } from 'node:http';
import { bodyPending } from './body.ts';
import type { Reply } from './call.ts';
import { corsHeaders } from './cors.ts';
import type { Guard } from './guard.ts';
import { securityHeaders } from './pages.ts';
import { type WriteStallParts, watchWrites, writeStream } from './stream.ts';

export interface RespondParts extends WriteStallParts {
  readonly guard: Guard;
  readonly lingerMilliseconds: number;
}

export interface Respondent {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
  /** Whether the rest of an unread body is on its way. */
  readonly linger: boolean;
}

/** Writes one reply under the headers that every response carries. */
export async function send(parts: RespondParts, respondent: Respondent, reply: Reply): Promise<void> {
  const { request, response, signal } = respondent;
  const early = bodyPending(request);
  const headers = merged(commonHeaders(parts.guard, request), reply.headers ?? {});
  // An answer before the end of the question: what still comes belongs to it and must not be read as the next request.
  if (early) headers.connection = 'close';

  if ('stream' in reply) {
    try {
      response.writeHead(reply.status, headers);
    } catch (error) {
      discard(reply);
      throw error;
    }
    const { stream, keepAlive, statusComments } = reply;
    const watch = () => watchWrites(request.socket, parts);
    const { startTimer } = parts;
    return writeStream(response, stream, { signal, keepAlive, statusComments, startTimer, watchWrites: watch });
  }
  if (reply.status >= 200 && reply.status !== 204 && reply.status !== 304)
    headers['content-length'] = String(Buffer.byteLength(reply.body));
  response.writeHead(reply.status, headers);
  const stall = watchWrites(request.socket, parts);
  response.once('close', stall.cancel);
  if (!early) return void response.end(reply.body);
  if (reply.body.length > 0) response.write(reply.body);
  else response.flushHeaders();
  if (respondent.linger) await drained(request, parts);
  response.end();
}

/** For a reply that nobody is sent: whoever makes its stream is told that it ends here. */
export function discard(reply: Reply): void {
  if ('stream' in reply) Promise.resolve(reply.stream[Symbol.asyncIterator]().return?.()).catch(() => undefined);
}

/**
 * A connection that is closed while data comes in is reset, and a client that sends its whole body before it reads would
 * never see the answer. So the rest is let in and dropped, for a while.
 */
function drained(request: IncomingMessage, { startTimer, lingerMilliseconds }: RespondParts): Promise<void> {
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
  const permitted = origin !== undefined && guard.permits(origin, headers);
  const requested = headers['access-control-request-headers'];
  const cors = corsHeaders(origin, permitted, requested);
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
