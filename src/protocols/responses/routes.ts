import { AppError } from '../../core/errors.ts';
import { fold } from '../../core/fold.ts';
import { ownerOf } from '../../core/owner.ts';
import { refuseWithoutModel } from '../../core/text-service.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import type { OwnResponses } from '../../store/responses.ts';
import { read, write } from '../access.ts';
import {
  type DialectContext,
  type DialectServices,
  eventStream,
  ignoredHeader,
  streamReply,
  withEngineNotices,
  withIgnored,
} from '../dialect.ts';
import { ownDocuments } from '../documents/library.ts';
import { sentFiles } from '../documents/sent-files.ts';
import { endpointRow, type ModelEndpoint, requestBody, rowBelow, withServices, withShortPath } from '../endpoint.ts';
import { readFields, wrong } from '../fields.ts';
import { listObject, pageBetween } from '../list-pages.ts';
import { uncountedHeaders } from '../media.ts';
import { decodeWithFiles } from '../read-body.ts';
import { requestContextOf } from '../request-context.ts';
import { chatHeaders } from '../tools.ts';
import { keptAfter } from '../ttl.ts';
import type { ResponseState } from './background.ts';
import { messagesToKeep, sealSummary } from './compaction.ts';
import { responseFile } from './conversation.ts';
import { type DecodeDeps, type DecodedRequest, decode } from './decode.ts';
import { encodeStream, encodeUsage, encodeWhole, type Session } from './encode.ts';
import { responsesDialect } from './errors.ts';
import { compactFields, countFields, createFields, inputItemsFields, retrieveFields } from './fields.ts';
import { refuseUnknownStores } from './file-search.ts';
import { fitConversation } from './fit.ts';
import { type ResponseObject, replay } from './output.ts';

const path = '/v1/responses';
const row = endpointRow(write('chat'), { method: 'POST', match: 'ending', queued: false, dialect: responsesDialect });

/** Handlers get what the decoder needs, with the stored responses of the client. */
const asClient =
  (answer: (call: Call, deps: ClientDeps, id: string) => Reply | Promise<Reply>) =>
  (call: Call, deps: DialectContext & ResponseState, id = '') =>
    answer(call, { ...deps, store: deps.store.of(ownerOf(call)), own: ownDocuments(call, deps) }, id);

const endpoints: readonly ModelEndpoint<DialectContext & ResponseState>[] = [
  row(path, 'Answer a conversation; stream optional.', asClient(create), {
    queued: true,
    replayedAs: 'chat',
    batched: true,
    fields: createFields,
    response: 'reply',
  }),
  row(`${path}/input_tokens`, 'Count the tokens of a request.', asClient(countTokens), {
    ...read('chat'),
    fields: countFields,
    response: 'inputTokens',
  }),
  row(
    `${path}/compact`,
    'Summarise a conversation: the output is the input of the next request.',
    asClient(compactConversation),
    { queued: true, fields: compactFields, response: 'compaction' },
  ),
  rowBelow(
    row,
    path,
    `A stored response (${path}/{id}), or the input that it answers (${path}/{id}/input_items).`,
    {
      '{id}': { handle: asClient(retrieve), fields: retrieveFields, response: 'stored' },
      '{id}/input_items': { handle: asClient(inputItems), fields: inputItemsFields, response: 'inputItems' },
    },
    { ...read('chat'), method: 'GET' },
  ),
  rowBelow(
    row,
    path,
    `Forget a stored response (${path}/{id}).`,
    { '{id}': { handle: asClient(forget), response: 'deleted' } },
    { method: 'DELETE' },
  ),
  rowBelow(row, path, `Stop a response in the background (${path}/{id}/cancel).`, {
    '{id}/cancel': { handle: asClient(cancel), response: 'response' },
  }),
];

export function responsesEndpoints(state: ResponseState, server: DialectServices) {
  return withServices(endpoints.flatMap(withShortPath), { ...server, ...state });
}

/** The stored responses are those of one client. */
type ClientDeps = DecodeDeps & Pick<ResponseState, 'background'>;

async function create(call: Call, deps: ClientDeps): Promise<Reply> {
  const { chat, startTimer } = deps;
  const decoded = await decoding(await requestBody(call, deps), call, deps);
  call.watch?.decoded?.(decoded.request);
  await refuseUnknownStores(decoded.fileSearch, deps.own);
  const { request, droppedMessages } = await fitConversation(decoded.request, chat, deps.text.contextSize());
  const headers = {
    ...(await chatHeaders(decoded.notices, request, chat)),
    ...(droppedMessages > 0 && { 'x-parley-dropped-messages': String(droppedMessages) }),
  };
  const session = newSession(decoded, call, deps);
  const requestContext = requestContextOf(call, decoded.genkey);
  const withTtl = <Event>(own: AsyncIterable<Event>) => keptAfter(own, decoded.ttl, deps.text);
  if (decoded.response.background) {
    const begin = (signal: AbortSignal) => withTtl(chat.reply(request, { ...requestContext, signal }));
    return json(deps.background.start({ ...decoded, store: deps.store, session, begin }), 200, headers);
  }
  const events = withTtl(chat.reply(request, requestContext));
  if (decoded.stream) {
    const waits = (): boolean => requestContext.queueStatus() !== undefined;
    return streamReply(events, (opened) => encodeStream(opened, session, { startTimer, waits }), {
      headers,
      requestContext,
      startTimer,
    });
  }
  const { response, engineNotices } = await encodeWhole(events, session);
  return json(response, 200, withEngineNotices(headers, engineNotices));
}

const { input: inputField, previous_response_id: previousField } = createFields;
const conversationFields = { input: inputField, previous_response_id: previousField };

/** Also the files of the conversation before it are loaded. */
async function decoding(body: JsonObject, call: Call, deps: DecodeDeps): Promise<DecodedRequest> {
  const { previous_response_id: id, input: newInput } = readFields(conversationFields, body);
  const { context = [], input = [] } = (typeof id === 'string' ? deps.store.get(id) : undefined) ?? {};
  const files = new Map([
    ...sentFiles([...context, ...input], 'previous_response_id', responseFile),
    ...sentFiles(newInput, 'input', responseFile),
  ]);
  const options = { ...deps, marks: 'keep', signal: call.signal } as const;
  return decodeWithFiles(files, (loaded) => decode(body, { ...deps, loaded }), options);
}

/** The user messages stay as they are, and the summary follows them. */
async function compactConversation(call: Call, deps: DecodeDeps): Promise<Reply> {
  const sent = await requestBody(call, deps);
  const { input: newInput = [], ...fields } = readFields(compactFields, sent);
  const decoded = await decoding({ ...fields, input: newInput }, call, deps);
  const { response, context, input, genkey } = decoded;
  const request = { ...decoded.request, compaction: { trigger: 0, pause: true } };
  call.watch?.decoded?.(request);
  const { compaction } = await fold(deps.chat.reply(request, requestContextOf(call, genkey)));
  // There is none only if the client has disconnected.
  const summary = compaction?.summary ?? null;
  const item = {
    id: deps.newId('cmp_'),
    type: 'compaction',
    encrypted_content: sealSummary({ summary, keepsUsers: true }),
  };
  const body = {
    id: response.id,
    object: 'response.compaction',
    created_at: response.created_at,
    output: [...messagesToKeep([...context, ...input]), item],
    usage: encodeUsage(compaction?.usage ?? { promptTokens: 0, cachedTokens: 0, completionTokens: 0 }),
  };
  return json(body, 200, ignoredHeader(compactFields, sent));
}

async function countTokens(call: Call, deps: DecodeDeps): Promise<Reply> {
  const { request, notices } = await decoding(await requestBody(call, deps), call, deps);
  refuseWithoutModel(deps.text.state());
  const inputTokens = await deps.chat.countTokens(request, call.signal, requestContextOf(call, ''));
  const headers = { ...withIgnored({}, notices.ignored), ...uncountedHeaders(request) };
  return json({ object: 'response.input_tokens', input_tokens: inputTokens }, 200, headers);
}

function newSession(decoded: DecodedRequest, call: Call, { newId, now, store }: DecodeDeps): Session {
  const { response, context, input } = decoded;
  return {
    response,
    output: { ...decoded, newId, compacts: decoded.request.compaction !== undefined },
    now,
    keep(finished: ResponseObject): ResponseObject {
      // The client of an aborted call never learned the id.
      if (!response.store || call.signal.aborted) return finished;
      const stored = store.put({ id: response.id, response: finished, context, input, output: finished.output });
      return stored ? finished : { ...finished, store: false };
    },
  };
}

function retrieve(call: Call, { store, background }: ClientDeps, id: string): Reply {
  const response = storedOf(id, store).response as ResponseObject;
  const query = Object.fromEntries(call.query);
  const headers = ignoredHeader(retrieveFields, query);
  const { stream, starting_after: refusal } = readFields(retrieveFields, query);
  if (!stream) return json(response, 200, headers);
  if (refusal) throw refusal;
  const finished = async (): Promise<ResponseObject | undefined> => {
    await background.finished(id);
    return store.get(id)?.response as ResponseObject | undefined;
  };
  return eventStream(replay(response, finished), headers);
}

/** One page; `after` is the last item of the page before. */
function inputItems(call: Call, { store }: ClientDeps, id: string): Reply {
  const { input } = storedOf(id, store);
  const query = Object.fromEntries(call.query);
  const { order, ...options } = readFields(inputItemsFields, query);
  const items = order === 'asc' ? input : input.toReversed();
  const page = pageBetween(items, options, 'an input item of this response');
  return json(listObject(page), 200, ignoredHeader(inputItemsFields, query));
}

function forget(_: Call, { store, background }: ClientDeps, id: string): Reply {
  storedOf(id, store);
  store.delete(id);
  void background.cancel(id);
  return json({ id, object: 'response', deleted: true });
}

async function cancel(_: Call, { store, background }: ClientDeps, id: string): Promise<Reply> {
  const { response } = storedOf(id, store);
  if (response.background !== true) throw wrong('response_id', 'that of a response in the background');
  await background.cancel(id);
  return json(store.get(id)?.response ?? response);
}

function storedOf(id: string, store: OwnResponses) {
  const stored = store.get(id);
  if (!stored) throw new AppError('not-stored', { what: 'stored response', id });
  return stored;
}
