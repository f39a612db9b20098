import { asAppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { Generation } from '../../core/fold.ts';
import type { JsonObject } from '../../http/body.ts';
import type { Call, Headers, Reply } from '../../http/call.ts';
import { paddedReply, requestsPadding } from '../../http/keep-alive.ts';
import { commentFrame, sseHeaders } from '../../http/sse.ts';
import { allShortfalls, type DialectParts, noticeHeaders, streamReply, withShortfall } from '../dialect.ts';
import type { CallTicket } from '../ticket.ts';
import { errorBody, locate } from './errors.ts';
import { collectAll } from './outcome.ts';
import { encodeStream, type StreamShape } from './stream.ts';

/** How the two generating endpoints hand their replies out; what stands in them is their own. */
export interface AnswerShape {
  readonly call: Call;
  readonly ticket: CallTicket;
  readonly notices: Headers;
  readonly promptField: string;
}

/** About the size that makes a proxy pass on what it has collected. */
const paddedFrame = 2048;

export function streamed(
  replies: readonly AsyncIterable<GenerationEvent>[],
  shape: AnswerShape & { readonly stream: StreamShape; readonly offersTools: boolean },
  { startTimer }: DialectParts,
): Promise<Reply> {
  const { ticket } = shape;
  const [first, ...others] = replies as [AsyncIterable<GenerationEvent>, ...AsyncIterable<GenerationEvent>[]];
  return located(
    streamReply(first, (opened) => encodeStream([opened, ...others], shape.stream), {
      headers: { ...sseHeaders, ...shape.notices },
      filler: commentFrame('keepalive', shape.offersTools ? paddedFrame : 0),
      ticket,
      startTimer,
    }),
    shape.promptField,
  );
}

export async function whole(
  replies: readonly AsyncIterable<GenerationEvent>[],
  { call, notices, promptField }: AnswerShape,
  encode: (generations: readonly Generation[]) => object,
  { startTimer }: DialectParts,
): Promise<Reply> {
  const generations = located(collectAll(replies), promptField);
  const body = generations.then((all) => JSON.stringify(encode(all)));
  if (requestsPadding(call)) {
    const reply = await paddedReply(body, (error) => JSON.stringify(errorBody(asAppError(error))), startTimer);
    return { ...reply, headers: { ...reply.headers, ...notices } };
  }
  const headers = { 'content-type': 'application/json', ...notices };
  const text = await body;
  return { status: 200, body: text, headers: withShortfall(headers, allShortfalls(await generations)) };
}

function located<Value>(promise: Promise<Value>, promptField: string): Promise<Value> {
  return promise.catch((error: unknown) => {
    throw locate(asAppError(error), promptField);
  });
}

/** The fields without effect, and the places inside of others. */
export function notices(body: JsonObject, fidelity: EndpointFidelity, places: readonly string[]): Headers {
  const name = 'x-parley-ignored';
  const fields = noticeHeaders(body, fidelity)[name];
  const all = [...(fields === undefined ? [] : [fields]), ...places];
  return all.length > 0 ? { [name]: all.join(', ') } : {};
}
