import { refuseWithoutModel } from '../../core/model-error.ts';
import { inSlices } from '../../core/slices.ts';
import { type JsonObject, jsonObject } from '../../http/body.ts';
import { type Call, type Headers, json, type Reply } from '../../http/call.ts';
import { commentFrame, sseHeaders } from '../../http/sse.ts';
import { headerList, noticeHeaders, streamReply, unheededThinking, withIgnored, withShortfall } from '../dialect.ts';
import { uncountedHeaders, withMedia } from '../media.ts';
import { ticketFor } from '../ticket.ts';
import { loosenedHeader } from '../tools.ts';
import type { BackgroundRuns } from './background.ts';
import { type DecodedRequest, type DecodeParts, decode } from './decode.ts';
import { encodeStream, encodeWhole, type Session } from './encode.ts';
import { createFidelity } from './fields.ts';
import { fitConversation } from './fit.ts';
import type { ResponseObject } from './response.ts';

export interface CreateParts extends DecodeParts {
  readonly background: BackgroundRuns;
}

export async function create(call: Call, parts: CreateParts): Promise<Reply> {
  const body = parts.applyDefaults(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }));
  const decoded = await inSlices(decode(body, parts), { signal: call.signal });
  const asked = await withMedia(decoded.chat, decoded.attachments, { ...parts, signal: call.signal });
  const { request, droppedMessages } = await fitConversation(asked, {
    chat: parts.chat,
    contextSize: parts.text.contextSize(),
  });
  const headers = {
    ...withIgnored(notices(body, decoded), await unheededThinking(body, request, parts.chat)),
    ...loosenedHeader(request),
    ...(droppedMessages > 0 ? { 'x-parley-dropped-messages': String(droppedMessages) } : {}),
  };
  const session = newSession(decoded, call, parts);
  const ticket = ticketFor(call, decoded.genkey);
  if (decoded.settings.background) {
    const begin = (signal: AbortSignal) => parts.chat.reply(request, { ...ticket, signal });
    return json(parts.background.start({ ...decoded, session, begin }), 200, headers);
  }
  const events = parts.chat.reply(request, ticket);
  if (decoded.stream) {
    const waits = (): boolean => ticket.standing() !== undefined;
    return streamReply(events, (opened) => encodeStream(opened, session, { startTimer: parts.startTimer, waits }), {
      headers: { ...sseHeaders, ...headers },
      filler: commentFrame('keepalive'),
      ticket,
      startTimer: parts.startTimer,
    });
  }
  const { response, shortfall } = await encodeWhole(events, session);
  return json(response, 200, withShortfall(headers, shortfall));
}

export async function countTokens(call: Call, parts: DecodeParts): Promise<Reply> {
  const body = parts.applyDefaults(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }));
  const decoded = await inSlices(decode(body, parts), { signal: call.signal });
  refuseWithoutModel(parts.text.state());
  const request = await withMedia(decoded.chat, decoded.attachments, { ...parts, signal: call.signal });
  const inputTokens = await parts.chat.countTokens(request, call.signal);
  const headers = { ...notices(body, decoded), ...uncountedHeaders(request) };
  return json({ object: 'response.input_tokens', input_tokens: inputTokens }, 200, headers);
}

function newSession(decoded: DecodedRequest, call: Call, parts: DecodeParts): Session {
  const { settings, context, input, offered, withLogprobs, withSealedThinking } = decoded;
  const id = parts.newId('resp_');
  return {
    identity: { id, createdAt: Math.floor(parts.now() / 1000), model: parts.modelName() },
    settings,
    output: { newId: parts.newId, offered, withLogprobs, withSealedThinking },
    now: parts.now,
    keep(response: ResponseObject): ResponseObject {
      // An answer that its client did not wait for is half an answer; nobody knows its id.
      if (!settings.store || call.signal.aborted) return response;
      const kept = parts.store.put({ id, response, context, input, output: response.output });
      return kept ? response : { ...response, store: false };
    },
  };
}

function notices(body: JsonObject, { skipped }: DecodedRequest): Headers {
  const fields = noticeHeaders(body, createFidelity)['x-parley-ignored'];
  // Kinds of items and tools are the client's own words.
  const told = headerList([...(fields === undefined ? [] : [fields]), ...skipped]);
  return told === '' ? {} : { 'x-parley-ignored': told };
}
