import { refuseWithoutModel } from '../../../core/model-error.ts';
import { type JsonObject, jsonObject } from '../../../http/body.ts';
import { type Call, type Headers, json, type Reply } from '../../../http/call.ts';
import { type DialectParts, unheededThinking } from '../../dialect.ts';
import type { ModelEndpoint } from '../../endpoint.ts';
import { uncountedHeaders } from '../../media.ts';
import { eventsFor, textTicket } from '../../ticket.ts';
import { loosenedHeader } from '../../tools.ts';
import { notices, streamed, whole } from '../answer.ts';
import { type Envelope, envelopeHead } from '../envelope.ts';
import { openaiFamily } from '../errors.ts';
import { chatFidelity, inputTokensFidelity } from '../fidelity.ts';
import { chatChoice } from './choice.ts';
import { type ChatQuestion, decodeChat } from './decode.ts';
import { encodeChatReply } from './reply.ts';

const promptField = 'messages';

const guarded = { method: 'POST', access: 'guarded', family: openaiFamily } as const;
const chat = { ...guarded, queued: true, handle: answerChat };
const count = { ...guarded, queued: false, handle: countTokens };

/** The short paths must match whole: as endings they would catch those of other families. */
export const chatEndpoints: readonly ModelEndpoint<DialectParts>[] = [
  { ...chat, match: 'ending', path: '/v1/chat/completions', summary: 'Answer a conversation, streamed or whole.' },
  { ...chat, match: 'exact', path: '/chat/completions', summary: 'Another name for /v1/chat/completions.' },
  {
    ...count,
    match: 'ending',
    path: '/v1/chat/completions/input_tokens',
    summary: 'How many tokens the prompt of a conversation has; takes the body of a chat.',
  },
  {
    ...count,
    match: 'exact',
    path: '/chat/completions/input_tokens',
    summary: 'Another name for /v1/chat/completions/input_tokens.',
  },
];

async function answerChat(call: Call, parts: DialectParts): Promise<Reply> {
  const body = parts.applyDefaults(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }));
  const question = await decodeChat(body, parts, call.signal);
  const ticket = textTicket(call, question);
  const shape = { call, ticket, promptField, notices: await chatNotices(body, question, parts) };
  const replies = parts.chat
    .replies(question.request, ticket, question.replies)
    .map((reply) => eventsFor(ticket, reply));
  if (question.stream) {
    const { offersTools } = question;
    return streamed(replies, { ...shape, stream: streamShape(question, parts), offersTools }, parts);
  }
  const envelope = newEnvelope('chat.completion', question, parts);
  const { promptLogprobs } = question.request.controls;
  const logprobs = question.request.controls.logprobs !== undefined;
  const { legacyCalls } = question;
  return whole(
    replies,
    shape,
    (generations) => encodeChatReply(generations, { envelope, legacyCalls, logprobs, promptLogprobs }),
    parts,
  );
}

async function chatNotices(
  body: JsonObject,
  { request, ignored }: ChatQuestion,
  { chat }: DialectParts,
): Promise<Headers> {
  const places = [...ignored, ...(await unheededThinking(body, request, chat))];
  return { ...notices(body, chatFidelity, places), ...loosenedHeader(request) };
}

function streamShape(question: ChatQuestion, parts: DialectParts) {
  const { includeUsage, legacyCalls, timingsPerToken } = question;
  const head = envelopeHead(newEnvelope('chat.completion.chunk', question, parts));
  const choice = { head, includeUsage, legacyCalls, timingsPerToken, now: parts.now };
  return {
    head,
    includeUsage,
    promptField,
    repliesPerPrompt: question.replies,
    choice: (index: number) => chatChoice({ ...choice, index }),
  };
}

function newEnvelope(object: string, { serviceTier }: ChatQuestion, parts: DialectParts): Envelope {
  const created = Math.floor(parts.now() / 1000);
  return { id: parts.newId('chatcmpl-'), object, created, model: parts.modelName(), serviceTier };
}

async function countTokens(call: Call, parts: DialectParts): Promise<Reply> {
  const body = parts.applyDefaults(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }));
  const { request, ignored } = await decodeChat(body, parts, call.signal);
  const tokens = await parts.chat.countTokens(request, call.signal);
  refuseWithoutModel(parts.text.state());
  const headers = { ...notices(body, inputTokensFidelity, ignored), ...uncountedHeaders(request) };
  return json({ object: 'response.input_tokens', input_tokens: tokens }, 200, headers);
}
