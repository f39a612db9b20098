import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import { refuseWithoutModel } from '../../core/model-error.ts';
import { inSlices } from '../../core/slices.ts';
import { type JsonObject, jsonObject } from '../../http/body.ts';
import { type Call, type Headers, json, type Reply } from '../../http/call.ts';
import { queueStatusComment } from '../../http/keep-alive.ts';
import { sseHeaders } from '../../http/sse.ts';
import {
  type DialectParts,
  noticeHeaders,
  streamReply,
  unheededThinking,
  withIgnored,
  withShortfall,
} from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { uncountedHeaders, withMedia } from '../media.ts';
import { ticketFor } from '../ticket.ts';
import { loosenedHeader } from '../tools.ts';
import { decode } from './decode.ts';
import { encodeStream, ping } from './encode.ts';
import type { ReplyFacts } from './ending.ts';
import { messagesFamily } from './errors.ts';
import { countFidelity, createFidelity } from './fields.ts';
import { withoutReply } from './warm-up.ts';
import { foldReply } from './whole.ts';

export type MessagesParts = DialectParts;

export function messagesEndpoints({ newId }: Pick<MessagesParts, 'newId'>): ModelEndpoint<MessagesParts>[] {
  const family = messagesFamily(newId);
  const guarded = { method: 'POST', access: 'guarded', family } as const;
  const create = { ...guarded, queued: true, handle: answer } as const;
  const absent = {
    match: 'prefix',
    path: '/v1/messages/batches',
    access: 'open',
    queued: false,
    summary: 'Not there: always answers 404.',
    family,
    handle: notThere,
  } as const;
  return [
    { ...create, match: 'ending', path: '/v1/messages', summary: 'Answer a conversation; streamed with stream: true.' },
    // As an ending it would catch the messages of other families.
    { ...create, match: 'exact', path: '/messages', summary: 'Another name for /v1/messages.' },
    {
      ...guarded,
      match: 'ending',
      path: '/v1/messages/count_tokens',
      queued: false,
      summary: 'How many tokens the prompt of this conversation has.',
      handle: count,
    },
    { ...absent, method: 'GET' },
    { ...absent, method: 'POST' },
    { ...absent, method: 'DELETE' },
  ];
}

async function answer(call: Call, parts: MessagesParts): Promise<Reply> {
  const body = parts.applyDefaults(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }));
  const decoded = await inSlices(decode(body, parts), { signal: call.signal });
  const { request: asked, attachments, stream, genkey, warmUp, passed } = decoded;
  const request = await withMedia(asked, attachments, { ...parts, signal: call.signal });
  const { stop, maxTokens } = request.controls;
  const facts: ReplyFacts = { id: parts.newId('msg_'), model: parts.modelName(), stop, maxTokens, warmUp };
  const unheeded = await unheededThinking(body, request, parts.chat);
  const told = withIgnored(replyHeaders(body, createFidelity, passed, parts), unheeded);
  const headers = { ...told, ...loosenedHeader(request) };
  const ticket = ticketFor(call, genkey);
  const reply = parts.chat.reply(request, ticket);
  const events = warmUp ? withoutReply(reply) : reply;
  if (!stream) return whole(events, facts, headers);
  return streamReply(events, (opened) => encodeStream(opened, facts), {
    headers: { ...sseHeaders, ...headers },
    filler: ping,
    notice: (standing) => queueStatusComment(standing) + ping,
    ticket,
    startTimer: parts.startTimer,
  });
}

async function whole(events: AsyncIterable<GenerationEvent>, facts: ReplyFacts, headers: Headers): Promise<Reply> {
  const { message, shortfall, warnings } = await foldReply(events, facts);
  return json(message, 200, {
    ...withShortfall(headers, shortfall),
    ...(warnings.length > 0 ? { 'x-parley-warnings': warnings.join(', ') } : {}),
  });
}

async function count(call: Call, parts: MessagesParts): Promise<Reply> {
  // The length of a reply that is never made must not matter, nor a wish for a summary.
  const sent = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
  const body = parts.applyDefaults({ ...sent, max_tokens: undefined, compaction: undefined, stream: undefined });
  const { request: asked, attachments, passed } = await inSlices(decode(body, parts), { signal: call.signal });
  refuseWithoutModel(parts.text.state());
  const request = await withMedia(asked, attachments, { ...parts, signal: call.signal });
  const inputTokens = await parts.chat.countTokens(request, call.signal);
  const headers = { ...replyHeaders(sent, countFidelity, passed, parts), ...uncountedHeaders(request) };
  return json({ input_tokens: inputTokens }, 200, headers);
}

const mostPlaces = 16;

function replyHeaders(
  body: JsonObject,
  fidelity: EndpointFidelity,
  passed: readonly string[],
  { newId }: MessagesParts,
): Headers {
  const fields = noticeHeaders(body, fidelity)['x-parley-ignored'];
  const rest = passed.length > mostPlaces ? [`${passed.length - mostPlaces} more places`] : [];
  const ignored = [...(fields === undefined ? [] : [fields]), ...passed.slice(0, mostPlaces), ...rest];
  return { 'request-id': newId('req_'), ...(ignored.length > 0 ? { 'x-parley-ignored': ignored.join(', ') } : {}) };
}

function notThere({ method, path }: Call): never {
  throw new AppError('not-found', { method, path });
}
