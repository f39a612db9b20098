import type { ChatRequest } from '../../chat/request.ts';
import { refuseWithoutModel } from '../../core/text-service.ts';
import { type Call, type Headers, json, type Reply } from '../../http/call.ts';
import { read, write } from '../access.ts';
import {
  type DialectContext,
  type DialectServices,
  keepAliveComment,
  streamReply,
  withEngineNotices,
  withIgnored,
} from '../dialect.ts';
import { ownDocuments } from '../documents/library.ts';
import { sentFiles } from '../documents/sent-files.ts';
import { endpointRow, requestBody, withServices, withShortPath } from '../endpoint.ts';
import { readFields } from '../fields.ts';
import { uncountedHeaders } from '../media.ts';
import { decodeWithFiles } from '../read-body.ts';
import { requestContextOf } from '../request-context.ts';
import { chatHeaders } from '../tools.ts';
import { type AppliedEdit, addEdit, applyEdits, type ContextManagement } from './context-management.ts';
import { messageFile } from './conversation.ts';
import { decode } from './decode.ts';
import { encodeStream, foldReply, ping } from './encode.ts';
import { messagesDialect, withRequestIds } from './errors.ts';
import { countFields, createFields } from './fields.ts';

export function messagesEndpoints(server: DialectServices) {
  const row = endpointRow(write('chat'), { method: 'POST', match: 'ending', queued: false, dialect: messagesDialect });
  const endpoints = [
    ...withShortPath(
      row('/v1/messages', 'Answer a conversation; streamed with stream: true.', answer, {
        fields: createFields,
        response: 'message',
        queued: true,
        replayedAs: 'chat',
        batched: true,
      }),
    ),
    row('/v1/messages/count_tokens', 'How many tokens the prompt of this conversation has.', count, {
      ...read('chat'),
      fields: countFields,
      response: 'countTokens',
    }),
  ];
  return withServices<DialectContext, DialectServices>(withRequestIds(endpoints), server);
}

async function answer(call: Call, context: DialectContext): Promise<Reply> {
  const { facts: known, notices, genkey, stream, ...decoded } = await decoding(call, context, createFields);
  call.watch?.decoded?.(decoded.request);
  const { request, applied: appliedEdits } = await edited(decoded.request, decoded.contextManagement, call, context);
  const facts = { ...known, appliedEdits };
  const headers = await chatHeaders(notices, request, context.chat);
  const requestContext = requestContextOf(call, genkey);
  const events = context.chat.reply(request, requestContext);
  if (!stream) return wholeReply(await foldReply(events, facts), headers);
  return streamReply(events, (opened) => encodeStream(opened, facts), {
    headers,
    filler: ping,
    // Clients throw on any event before message_start.
    initialFiller: keepAliveComment,
    requestContext,
    startTimer: context.startTimer,
  });
}

async function decoding(call: Call, context: DialectContext, table: typeof createFields | typeof countFields) {
  const body = await requestBody(call, context);
  const { messages } = readFields({ messages: createFields.messages }, body);
  const options = { ...context, own: ownDocuments(call, context), marks: 'strip', signal: call.signal } as const;
  const files = sentFiles(messages, 'messages', messageFile);
  return decodeWithFiles(files, (loaded) => decode(body, { ...context, loaded }, table), options);
}

function wholeReply(
  { message, engineNotices, warnings }: Awaited<ReturnType<typeof foldReply>>,
  headers: Headers,
): Reply {
  const listed = warnings.length > 0 && { 'x-parley-warnings': warnings.join(', ') };
  return json(message, 200, { ...withEngineNotices(headers, engineNotices), ...listed });
}

async function count(call: Call, context: DialectContext): Promise<Reply> {
  const { request: sent, notices, contextManagement } = await decoding(call, context, countFields);
  refuseWithoutModel(context.text.state());
  const { request, applied } = await edited(sent, contextManagement, call, context);
  const requestContext = requestContextOf(call, '');
  const originalTokens = await context.chat.countTokens(sent, call.signal, requestContext);
  const isSame = request.conversation === sent.conversation;
  const inputTokens = isSame ? originalTokens : await context.chat.countTokens(request, call.signal, requestContext);
  const management = applied && { context_management: { original_input_tokens: originalTokens } };
  const headers = { ...withIgnored({}, notices.ignored), ...uncountedHeaders(request) };
  return json({ input_tokens: inputTokens, ...management }, 200, headers);
}

/** The request after its edits; `applied` is undefined unless it has `context_management`. */
async function edited(
  request: ChatRequest,
  management: ContextManagement | undefined,
  { signal }: Call,
  { chat }: DialectContext,
): Promise<{ readonly request: ChatRequest; readonly applied?: readonly AppliedEdit[] }> {
  if (!management) return { request };
  const first = await applyEdits(request, management, (each) => chat.countTokens(each, signal));
  const applied = [...first.applied];
  const edit: ChatRequest['edit'] = async (grown, count) => {
    const later = await applyEdits(grown, management, count);
    for (const report of later.applied) addEdit(applied, report);
    return later.request;
  };
  return { request: management.edits.length > 0 ? { ...first.request, edit } : first.request, applied };
}
