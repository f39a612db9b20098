import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError, asAppError } from '../core/errors.ts';
import type { Refused } from '../core/refused.ts';
import type { Call, Endpoint, Reply } from './call.ts';
import { isForm, readForm } from './form.ts';
import { plainAddress } from './host-name.ts';
import { type JudgeParts, judge } from './judge.ts';
import { readBody } from './read-body.ts';
import { errorRefusal, refusal } from './refusal.ts';
import { type RespondParts, send } from './respond.ts';
import { plainPath, queryOf } from './router.ts';

export interface ExchangeParts extends JudgeParts, RespondParts {
  readonly maxRequestMegabytes: number;
  readonly stallMilliseconds: number;
  /** Told of each request that is sent away for a reason of its own. */
  readonly onRefused: ((refused: Refused) => void) | undefined;
  readonly onError: (error: unknown, request: { readonly method: string; readonly path: string }) => void;
}

export interface Incoming {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
  /** The client holds its body back until it is told to go on. */
  readonly expectsContinue: boolean;
}

interface Answer {
  readonly reply: Reply;
  readonly linger: boolean;
  /** What is to be done when the answer is out, or nobody is there to take it. */
  readonly afterwards?: () => Promise<void>;
}

/**
 * One request from its head to the end of its answer. Never rejects: what fails becomes an answer, or the end of the
 * connection.
 */
export async function exchange(parts: ExchangeParts, incoming: Incoming): Promise<void> {
  const { request, response, signal } = incoming;
  const method = request.method ?? '';
  const path = plainPath(request.url ?? '');
  try {
    const { reply, linger, afterwards } = await answer(parts, incoming, method, path);
    await send(parts, { request, response, signal, linger }, reply).finally(afterwards);
  } catch (error) {
    if (signal.aborted) return;
    parts.onError(error, { method, path });
    const reply = errorRefusal(asAppError(error));
    // What was written before the failure still goes out; then the missing end tells that something is missing.
    if (response.headersSent) request.socket.destroySoon();
    else await send(parts, { request, response, signal, linger: false }, reply).catch(() => response.destroy());
  }
}

async function answer(parts: ExchangeParts, incoming: Incoming, method: string, path: string): Promise<Answer> {
  const { request, response, signal, expectsContinue } = incoming;
  const { headers, url: target = '' } = request;
  const remoteAddress = plainAddress(request.socket.remoteAddress);
  const verdict = judge(parts, { method, path, target, headers, remoteAddress });
  const tell = (error: AppError, { status }: Reply) =>
    parts.onRefused?.({ error, status, method, path, remoteAddress });
  if (verdict.type === 'answered') {
    if (verdict.error) tell(verdict.error, verdict.reply);
    return { reply: verdict.reply, linger: !expectsContinue };
  }

  const { endpoint } = verdict;
  let held = expectsContinue;
  const begin = (): void => {
    if (held) response.writeContinue();
    held = false;
  };
  const { stallMilliseconds, startTimer } = parts;
  const bounds = { bytes: parts.maxRequestMegabytes * 1024 * 1024, stallMilliseconds, startTimer, begin };
  const read =
    endpoint.form && isForm(request)
      ? await readForm(request, { ...bounds, limits: endpoint.form })
      : await readBody(request, bounds);
  const authorized = parts.guard.authorized(headers);
  const common = { method, path, query: queryOf(target), headers, signal, remoteAddress, authorized };
  switch (read.type) {
    case 'whole':
      return { reply: await handle(parts, endpoint, { ...common, body: read.body }, tell), linger: false };
    case 'form': {
      const { form, remove: afterwards } = read;
      const reply = await handle(parts, endpoint, { ...common, body: nothing, form }, tell);
      return { reply, linger: false, afterwards };
    }
    case 'broken': {
      const error = new AppError('request-broken', { reason: read.reason });
      const reply = endpoint.family.errorReply(error);
      tell(error, reply);
      return { reply, linger: true };
    }
    case 'too-large': {
      const error = new AppError('payload-too-large', { limitMegabytes: parts.maxRequestMegabytes });
      const reply = endpoint.family.errorReply(error);
      tell(error, reply);
      return { reply, linger: !held };
    }
    case 'stalled':
      return { reply: refusal(408, 'The request was not sent to its end in time.', 'request_timeout'), linger: false };
    case 'gone':
      throw new AppError('request-broken', { reason: 'the connection ended in its middle' });
  }
}

const nothing = Buffer.alloc(0);

async function handle(
  parts: ExchangeParts,
  endpoint: Endpoint,
  call: Call,
  tell: (error: AppError, reply: Reply) => void,
): Promise<Reply> {
  try {
    return await endpoint.handle(call);
  } catch (thrown) {
    const error = asAppError(thrown);
    const { signal, method, path } = call;
    if (error.code === 'internal' && !signal.aborted) parts.onError(thrown, { method, path });
    const reply = endpoint.family.errorReply(error);
    if (error.code !== 'internal' && !signal.aborted) tell(error, reply);
    return reply;
  }
}
