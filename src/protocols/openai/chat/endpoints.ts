import { refuseWithoutModel } from '../../../core/text-service.ts';
import { type Call, json, type Reply } from '../../../http/call.ts';
import { read, write } from '../../access.ts';
import { type DialectParts, withIgnored } from '../../dialect.ts';
import { ownDocuments } from '../../documents/library.ts';
import { requestBody, withShortPath } from '../../endpoint.ts';
import { uncountedHeaders } from '../../media.ts';
import { eventsFor, textTicket, ticketFor } from '../../ticket.ts';
import { chatHeaders } from '../../tools.ts';
import { answer } from '../answer.ts';
import { newEnvelope } from '../encode.ts';
import { openaiRow } from '../errors.ts';
import { decodeChat } from './decode.ts';
import { chatChoice, encodeChat } from './encode.ts';
import { chatFields, inputTokensFields } from './fields.ts';

export const chatEndpoints = [
  openaiRow('/v1/chat/completions', 'Answer a conversation, streamed or whole.', answerChat, {
    ...write('chat'),
    fields: chatFields,
    replayedAs: 'chat',
    batched: true,
  }),
  openaiRow(
    '/v1/chat/completions/input_tokens',
    'How many tokens the prompt of a conversation has; takes the body of a chat.',
    countTokens,
    { ...read('chat'), fields: inputTokensFields, queued: false, recorded: false },
  ),
].flatMap(withShortPath);

async function answerChat(call: Call, parts: DialectParts): Promise<Reply> {
  const decoded = await decodeChat(await requestBody(call, parts), parts, call.signal, ownDocuments(call, parts));
  const { request, legacyCalls, stream } = decoded;
  call.watch?.decoded?.(request);
  const ticket = textTicket(call, decoded);
  const headers = await chatHeaders(decoded.notices, request, parts.chat);
  const replies = parts.chat.replies(request, ticket, decoded.replies).map((reply) => eventsFor(ticket, reply));
  const envelope = newEnvelope(stream ? 'chat.completion.chunk' : 'chat.completion', 'chatcmpl-', parts);
  return answer(
    replies,
    {
      ...decoded,
      call,
      ticket,
      headers,
      envelope: decoded.serviceTier ? { ...envelope, service_tier: 'default' } : envelope,
      repliesPerPrompt: decoded.replies,
      promptField: 'messages',
      choice: (shape) => chatChoice(shape, legacyCalls),
      whole: (generations) => encodeChat(generations, decoded),
    },
    parts,
  );
}

async function countTokens(call: Call, parts: DialectParts): Promise<Reply> {
  const { request, notices } = await decodeChat(
    await requestBody(call, parts),
    parts,
    call.signal,
    ownDocuments(call, parts),
  );
  const tokens = await parts.chat.countTokens(request, call.signal, ticketFor(call, ''));
  refuseWithoutModel(parts.text.state());
  const headers = { ...withIgnored({}, notices.ignored), ...uncountedHeaders(request) };
  return json({ object: 'response.input_tokens', input_tokens: tokens }, 200, headers);
}
