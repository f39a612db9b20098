import { AppError } from '../../core/errors.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import { refuseWithoutModel } from '../../core/model-error.ts';
import { inSlices } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { information, read, write } from '../access.ts';
import {
  type DialectParts,
  keepAliveComment,
  noticeHeaders,
  streamReply,
  withIgnored,
  withShortfall,
} from '../dialect.ts';
import { bodyOf, endpointRow, type ModelEndpoint, requestBody, withShortPath } from '../endpoint.ts';
import { uncountedHeaders, withMedia } from '../media.ts';
import { ticketFor } from '../ticket.ts';
import { chatHeaders } from '../tools.ts';
import { decode } from './decode.ts';
import { encodeStream, foldReply, ping, withoutReply } from './encode.ts';
import { messagesFamily } from './errors.ts';
import { countFidelity, createFidelity } from './fields.ts';

export function messagesEndpoints({ newId }: Pick<DialectParts, 'newId'>): ModelEndpoint<DialectParts>[] {
  const family = messagesFamily(newId);
  const row = endpointRow(write('chat'), { method: 'POST', match: 'ending', queued: false, family });
  return [
    ...withShortPath(
      row('/v1/messages', 'Answer a conversation; streamed with stream: true.', answer, {
        queued: true,
        replayedAs: 'chat',
      }),
    ),
    row('/v1/messages/count_tokens', 'How many tokens the prompt of this conversation has.', count, read('chat')),
    ...(['GET', 'POST', 'DELETE'] as const).map((method) =>
      row('/v1/messages/batches', 'Not there: always answers 404.', refuse, {
        ...information,
        method,
        match: 'prefix',
      }),
    ),
  ];
}

function refuse({ method, path }: Call): never {
  throw new AppError('not-found', { method, path });
}

async function answer(call: Call, parts: DialectParts): Promise<Reply> {
  const body = await requestBody(call, parts);
  const decoded = await inSlices(decode(body, parts), { signal: call.signal });
  const { attachments, warmUp, ignored } = decoded;
  const request = await withMedia(decoded.request, attachments, { ...parts, signal: call.signal });
  call.watch?.decoded?.(request);
  const { stop, maxTokens } = request.controls;
  const facts = { id: parts.newId('msg_'), model: parts.modelName(), stop, maxTokens, warmUp };
  const notices = replyHeaders(call, body, createFidelity, ignored);
  const headers = await chatHeaders(notices, body, request, parts.chat);
  const ticket = ticketFor(call, decoded.genkey);
  const reply = parts.chat.reply(request, ticket);
  const events = warmUp ? withoutReply(reply) : reply;
  if (decoded.stream) {
    return streamReply(events, (opened) => encodeStream(opened, facts), {
      headers,
      filler: ping,
      // Clients throw on any event before message_start.
      initialFiller: keepAliveComment,
      ticket,
      startTimer: parts.startTimer,
    });
  }
  const { message, shortfall, warnings } = await foldReply(events, facts);
  return json(message, 200, {
    ...withShortfall(headers, shortfall),
    ...(warnings.length > 0 && { 'x-parley-warnings': warnings.join(', ') }),
  });
}

async function count(call: Call, parts: DialectParts): Promise<Reply> {
  // The fields of a reply have no effect, whatever their values.
  const sent = await bodyOf(call);
  const body = parts.applyDefaults({ ...sent, max_tokens: undefined, compaction: undefined, stream: undefined });
  const decoded = await inSlices(decode(body, parts), { signal: call.signal });
  refuseWithoutModel(parts.text.state());
  const request = await withMedia(decoded.request, decoded.attachments, { ...parts, signal: call.signal });
  const inputTokens = await parts.chat.countTokens(request, call.signal);
  const headers = { ...replyHeaders(call, sent, countFidelity, decoded.ignored), ...uncountedHeaders(request) };
  return json({ input_tokens: inputTokens }, 200, headers);
}

const mostPaths = 16;

function replyHeaders({ id }: Call, body: JsonObject, table: EndpointFidelity, ignored: readonly string[]) {
  const rest = ignored.length > mostPaths ? [`${ignored.length - mostPaths} more places`] : [];
  const notices = withIgnored(noticeHeaders(body, table), [...ignored.slice(0, mostPaths), ...rest]);
  return { 'request-id': id, ...notices };
}
