import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError, asAppError } from '../core/errors.ts';
import type { Call, Endpoint, Reply } from './call.ts';
import type { Guard } from './guard.ts';
import { plainAddress } from './host-name.ts';
import { judge } from './judge.ts';
import type { RateLimit } from './rate-limit.ts';
import { readBody } from './read-body.ts';
import { errorRefusal, refusal } from './refusal.ts';
import { send } from './respond.ts';
import { plainPath, queryOf, type Router } from './router.ts';
import type { StartTimer } from './timers.ts';

export interface ExchangeParts {
  readonly router: Router<Endpoint>;
  readonly guard: Guard;
  readonly rate: RateLimit;
  readonly maxRequestMegabytes: number;
  readonly stallMilliseconds: number;
  readonly lingerMilliseconds: number;
  readonly startTimer: StartTimer;
  readonly now: () => number;
  readonly onError: (error: unknown, request: { readonly method: string; readonly path: string }) => void;
}

export interface Incoming {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
  /** The client holds its body back until it is told to go on. */
  readonly expectsContinue: boolean;
}

/** One request from its head to the end of its answer. Never rejects: what fails becomes an answer, or the end of the connection. */
export async function exchange(parts: ExchangeParts, incoming: Incoming): Promise<void> {
  const { request, response, signal } = incoming;
  const method = request.method ?? '';
  const path = plainPath(request.url ?? '');
  try {
    const reply = await answer(parts, incoming, method, path);
    if (reply && !signal.aborted) await send(parts, incoming, reply);
  } catch (error) {
    if (signal.aborted) return;
    parts.onError(error, { method, path });
    if (response.headersSent) response.destroy();
    else await send(parts, incoming, errorRefusal(asAppError(error))).catch(() => response.destroy());
  }
}

/** Undefined when nobody is left who could be answered. */
async function answer(
  parts: ExchangeParts,
  incoming: Incoming,
  method: string,
  path: string,
): Promise<Reply | undefined> {
  const { request, response, signal, expectsContinue } = incoming;
  const { headers, socket } = request;
  const remoteAddress = plainAddress(socket.remoteAddress);
  const verdict = judge(parts, { method, path, target: request.url ?? '', headers, remoteAddress });
  if (verdict.type === 'answered') return verdict.reply;

  if (expectsContinue) response.writeContinue();
  const { endpoint } = verdict;
  const read = await readBody(request, {
    bytes: parts.maxRequestMegabytes * 1024 * 1024,
    stallMilliseconds: parts.stallMilliseconds,
    startTimer: parts.startTimer,
  });
  switch (read.type) {
    case 'gone':
      return undefined;
    case 'stalled':
      return refusal(408, 'The request was not sent to its end in time.', 'request_timeout');
    case 'too-large':
      return endpoint.family.errorReply(
        new AppError('payload-too-large', { limitMegabytes: parts.maxRequestMegabytes }),
      );
    case 'whole': {
      const authorized = parts.guard.authorized(headers);
      const query = queryOf(request.url ?? '');
      return handle(parts, endpoint, {
        method,
        path,
        query,
        headers,
        body: read.body,
        signal,
        remoteAddress,
        authorized,
      });
    }
  }
}

async function handle(parts: ExchangeParts, endpoint: Endpoint, call: Call): Promise<Reply> {
  try {
    return await endpoint.handle(call);
  } catch (thrown) {
    const error = asAppError(thrown);
    if (error.code === 'internal' && !call.signal.aborted) parts.onError(thrown, call);
    return endpoint.family.errorReply(error);
  }
}
