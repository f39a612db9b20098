import { createHash } from 'node:crypto';
import { abortCause } from '../core/abort.ts';
import { readOn } from '../core/channel.ts';
import { knownClient } from '../core/clients.ts';
import { clientName } from '../core/owner.ts';
import type { PromptProgress, QueueStatus } from '../core/request.ts';
import type { RequestContext } from '../core/request-context.ts';
import type { Call } from '../http/call.ts';
import { credentials } from '../http/guard.ts';
import { mayUseDocuments } from './documents/library.ts';
import { described, honoured, looseFlag, objectOf, orElse } from './fields.ts';
import { sentFields } from './sent-fields.ts';

/** The context of one call, and its status in the queue. */
export interface CallContext extends RequestContext {
  readonly onQueued: NonNullable<RequestContext['onQueued']>;
  /** Undefined unless it is queued. */
  queueStatus(): QueueStatus | undefined;
  /** Undefined unless its prompt is being processed. */
  promptProgress(): PromptProgress | undefined;
}

const readKept = objectOf({ keep_text_gen_on_disconnect: orElse(looseFlag, false) });
export const keepOnDisconnect = honoured(
  described(readKept.schema ?? {}, (value, path) => readKept(value ?? {}, path).keep_text_gen_on_disconnect),
  'keep_text_gen_on_disconnect: with a genkey the reply goes on when the client is gone; /api/extra/generate/check has it then.',
);

/** `kept`: the generation goes on without its client. That needs a key, by which it can be polled or stopped. */
export function textRequestContext(call: Call, options: { readonly genkey: string; readonly kept: boolean }) {
  const requestContext = requestContextOf(call, options.genkey);
  const survivesDisconnect = options.kept && options.genkey !== '';
  const signal = survivesDisconnect ? untilCancelled(call.signal) : requestContext.signal;
  return { ...requestContext, survivesDisconnect, signal };
}

/** Goes on when the client is gone. */
function untilCancelled(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  signal.addEventListener('abort', () => {
    if (abortCause(signal) === 'cancelled') controller.abort(signal.reason);
  });
  return controller.signal;
}

/** A generation that survives its client is read to its end, others for as long as the client reads. */
export function eventsFor<Event>(
  { survivesDisconnect }: { readonly survivesDisconnect: boolean },
  events: AsyncIterable<Event>,
) {
  return survivesDisconnect ? readOn(events) : events;
}

export function requestContextOf(call: Call, genkey: string): CallContext {
  let queueStatus: () => QueueStatus | undefined = () => undefined;
  let promptProgress: () => PromptProgress | undefined = () => undefined;
  return {
    genkey,
    client: clientOf(call),
    program: knownClient({ headers: call.headers }).id,
    part: partName(call, genkey),
    weight: call.key?.weight ?? 1,
    signal: call.signal,
    ...(call.giveWay && { giveWay: call.giveWay }),
    requestId: call.id,
    watch: call.watch,
    sender: { key: call.key },
    ...(mayUseDocuments(call) && { reader: { key: call.key } }),
    sent: sentFields(call),
    onQueued: (own, reading = promptProgress) => {
      queueStatus = own;
      promptProgress = reading;
    },
    queueStatus: () => queueStatus(),
    promptProgress: () => promptProgress(),
  };
}

export function clientOf({ remoteAddress, key }: Pick<Call, 'remoteAddress' | 'key'>): string {
  return clientName(remoteAddress, key);
}

/** Tells clients of one address (behind a proxy) apart. Hashed, because the key itself must not be passed on. */
function partName({ headers }: Pick<Call, 'headers'>, genkey: string): string {
  const key = credentials(headers) ?? '';
  return key === '' ? genkey : `${createHash('sha256').update(key).digest('base64url').slice(0, 16)} ${genkey}`;
}
