import { refuseWithoutModel } from '../../../core/text-service.ts';
import { type Call, json, type Reply } from '../../../http/call.ts';
import { read, write } from '../../access.ts';
import { type DialectContext, withIgnored } from '../../dialect.ts';
import { ownDocuments } from '../../documents/library.ts';
import { requestBody, withShortPath } from '../../endpoint.ts';
import { uncountedHeaders } from '../../media.ts';
import { eventsFor, requestContextOf, textRequestContext } from '../../request-context.ts';
import { chatHeaders } from '../../tools.ts';
import { newEnvelope } from '../encode.ts';
import { openaiRow } from '../errors.ts';
import { answer } from '../reply.ts';
import { decodeChat } from './decode.ts';
import { chatChoice, encodeChat } from './encode.ts';
import { chatFields, inputTokensFields } from './fields.ts';

export const chatEndpoints = [
  openaiRow('/v1/chat/completions', 'Answer a conversation, streamed or whole.', answerChat, {
    ...write('chat'),
    fields: chatFields,
    response: 'chat',
    replayedAs: 'chat',
    batched: true,
  }),
  openaiRow(
    '/v1/chat/completions/input_tokens',
    'How many tokens the prompt of a conversation has; takes the body of a chat.',
    countTokens,
    { ...read('chat'), fields: inputTokensFields, response: 'inputTokens', queued: false, recorded: false },
  ),
].flatMap(withShortPath);

async function decodedChat(call: Call, context: DialectContext) {
  return decodeChat(await requestBody(call, context), context, call.signal, ownDocuments(call, context));
}

async function answerChat(call: Call, context: DialectContext): Promise<Reply> {
  const decoded = await decodedChat(call, context);
  const { request, legacyCalls, stream } = decoded;
  call.watch?.decoded?.(request);
  const requestContext = textRequestContext(call, decoded);
  const headers = await chatHeaders(decoded.notices, request, context.chat);
  const replies = context.chat
    .replies(request, requestContext, decoded.replies)
    .map((reply) => eventsFor(requestContext, reply));
  const envelope = newEnvelope(stream ? 'chat.completion.chunk' : 'chat.completion', 'chatcmpl-', context);
  return answer(
    replies,
    {
      ...decoded,
      call,
      requestContext,
      headers,
      envelope: decoded.serviceTier ? { ...envelope, service_tier: 'default' } : envelope,
      repliesPerPrompt: decoded.replies,
      promptField: 'messages',
      choice: (shape) => chatChoice(shape, legacyCalls),
      whole: (generations) => encodeChat(generations, decoded),
    },
    context,
  );
}

async function countTokens(call: Call, context: DialectContext): Promise<Reply> {
  const { request, notices } = await decodedChat(call, context);
  const tokens = await context.chat.countTokens(request, call.signal, requestContextOf(call, ''));
  refuseWithoutModel(context.text.state());
  const headers = { ...withIgnored({}, notices.ignored), ...uncountedHeaders(request) };
  return json({ object: 'response.input_tokens', input_tokens: tokens }, 200, headers);
}
