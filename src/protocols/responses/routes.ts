import { AppError } from '../../core/errors.ts';
import { fold } from '../../core/fold.ts';
import { refuseWithoutModel } from '../../core/model-error.ts';
import { ownerOf } from '../../core/owner.ts';
import { percentDecoded } from '../../core/percent-decoded.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import type { OwnResponses, StoredItem } from '../../store/responses.ts';
import { read, write } from '../access.ts';
import {
  type DialectParts,
  type DialectServices,
  eventStream,
  ignoredHeader,
  streamReply,
  withIgnored,
  withShortfall,
} from '../dialect.ts';
import { withCollections } from '../documents/collections.ts';
import { ownDocuments } from '../documents/library.ts';
import { loadFiles, sentFiles } from '../documents/sent-files.ts';
import { type EndpointShape, endpointRow, requestBody, withServices, withShortPath } from '../endpoint.ts';
import { type Fields, readFields, wrong } from '../fields.ts';
import { uncountedHeaders } from '../media.ts';
import { decodeInSlices } from '../read-body.ts';
import { ticketFor } from '../ticket.ts';
import { chatHeaders } from '../tools.ts';
import { keptAfter } from '../ttl.ts';
import type { ResponseState } from './background.ts';
import { messagesToKeep, sealSummary } from './compaction.ts';
import { responseFile } from './conversation.ts';
import { type DecodedRequest, type DecodeParts, decode } from './decode.ts';
import { encodeStream, encodeUsage, encodeWhole, type Session } from './encode.ts';
import { responsesFamily } from './errors.ts';
import { compactFields, countFields, createFields, inputItemsFields, retrieveFields } from './fields.ts';
import { refuseUnknownStores } from './file-search.ts';
import { fitConversation } from './fit.ts';
import { type ResponseObject, replay } from './output.ts';

/** A path that matches by its beginning has one handler per method, which looks at the rest of the path itself. */
export function responsesEndpoints(state: ResponseState, server: DialectServices) {
  const row = endpointRow(write('chat'), { method: 'POST', match: 'ending', queued: false, family: responsesFamily });
  const path = '/v1/responses';
  const stored = (
    summary: string,
    answer: (call: Call, state: OwnState) => Reply | Promise<Reply>,
    own: Pick<EndpointShape, 'below'> & Partial<EndpointShape>,
  ) => row(`${path}/`, summary, (call) => answer(call, ownState(call, state)), { match: 'prefix', ...own });
  const endpoints = [
    row(
      path,
      'Answer a conversation; stream optional.',
      (call, parts: DialectParts) => create(call, ownParts(call, state, parts)),
      { queued: true, replayedAs: 'chat', batched: true, fields: createFields },
    ),
    row(
      `${path}/input_tokens`,
      'Count the tokens of a request.',
      (call, parts: DialectParts) => countTokens(call, ownParts(call, state, parts)),
      { ...read('chat'), fields: countFields },
    ),
    row(
      `${path}/compact`,
      'Summarise a conversation: the output is the input of the next request.',
      (call, parts: DialectParts) => compactConversation(call, ownParts(call, state, parts)),
      { queued: true, fields: compactFields },
    ),
    stored(`A stored response (${path}/{id}), or the input that it answers (${path}/{id}/input_items).`, retrieve, {
      ...read('chat'),
      method: 'GET',
      below: { '{id}': retrieveFields, '{id}/input_items': inputItemsFields },
    }),
    stored(`Forget a stored response (${path}/{id}).`, forget, { method: 'DELETE', below: { '{id}': undefined } }),
    stored(`Stop a response in the background (${path}/{id}/cancel).`, cancel, { below: { '{id}/cancel': undefined } }),
  ].flatMap(withShortPath);
  return withServices<DialectParts, DialectServices>(endpoints, server);
}

/** What one client sees of the stored responses. */
interface OwnState extends Omit<ResponseState, 'store'> {
  readonly store: OwnResponses;
}

/** What the decoder needs of one client. */
function ownParts(call: Call, state: ResponseState, parts: DialectParts): DecodeParts & OwnState {
  return { ...parts, ...ownState(call, state), own: ownDocuments(call, parts) };
}

function ownState(call: Call, { store, background }: ResponseState): OwnState {
  return { background, store: store.of(ownerOf(call)) };
}

async function create(call: Call, parts: DecodeParts & OwnState): Promise<Reply> {
  const { chat, startTimer } = parts;
  const decoded = await decoding(await requestBody(call, parts), call, parts);
  call.watch?.decoded?.(decoded.request);
  await refuseUnknownStores(decoded.fileSearch, parts.own);
  const { request, droppedMessages } = await fitConversation(decoded.request, chat, parts.text.contextSize());
  const headers = {
    ...(await chatHeaders(decoded.notices, request, chat)),
    ...(droppedMessages > 0 && { 'x-parley-dropped-messages': String(droppedMessages) }),
  };
  const session = newSession(decoded, call, parts);
  const ticket = ticketFor(call, decoded.genkey);
  const kept = <Event>(own: AsyncIterable<Event>) => keptAfter(own, decoded.ttl, parts.text);
  if (decoded.response.background) {
    const begin = (signal: AbortSignal) => kept(chat.reply(request, { ...ticket, signal }));
    return json(parts.background.start({ ...decoded, store: parts.store, session, begin }), 200, headers);
  }
  const events = kept(chat.reply(request, ticket));
  if (decoded.stream) {
    const waits = (): boolean => ticket.queueStatus() !== undefined;
    return streamReply(events, (opened) => encodeStream(opened, session, { startTimer, waits }), {
      headers,
      ticket,
      startTimer,
    });
  }
  const { response, shortfall } = await encodeWhole(events, session);
  return json(response, 200, withShortfall(headers, shortfall));
}

const { input: inputField, previous_response_id: previousField } = createFields;
const conversationFields = { input: inputField, previous_response_id: previousField };

/** Also the files of the conversation before it are loaded. */
async function decoding(body: JsonObject, call: Call, parts: DecodeParts): Promise<DecodedRequest> {
  const { previous_response_id: id, input: asked } = readFields(conversationFields, body);
  const { context = [], input = [] } = (typeof id === 'string' ? parts.store.get(id) : undefined) ?? {};
  const sent = new Map([
    ...sentFiles([...context, ...input], 'previous_response_id', responseFile),
    ...sentFiles(asked, 'input', responseFile),
  ]);
  const { own, fetchMedia } = parts;
  const loaded = sent.size > 0 ? await loadFiles(sent, { own, fetchMedia, signal: call.signal }) : undefined;
  const decoded = await decodeInSlices(decode(body, { ...parts, ...(loaded && { loaded }) }), call, parts);
  const options = {
    own,
    marks: 'keep',
    itemized: true,
    contextSize: parts.text.contextSize(),
    signal: call.signal,
  } as const;
  return { ...decoded, request: await withCollections(decoded.request, decoded.collections, options) };
}

/** The user messages stay as they are, and the summary follows them. */
async function compactConversation(call: Call, parts: DecodeParts): Promise<Reply> {
  const sent = await requestBody(call, parts);
  const { input: asked = [], ...fields } = readFields(compactFields, sent);
  const decoded = await decoding({ ...fields, input: asked }, call, parts);
  const { response, context, input, genkey } = decoded;
  const request = { ...decoded.request, compaction: { trigger: 0, pause: true } };
  call.watch?.decoded?.(request);
  const { compaction } = await fold(parts.chat.reply(request, ticketFor(call, genkey)));
  // Only a client that is gone gets none.
  const summary = compaction?.summary ?? null;
  const item = {
    id: parts.newId('cmp_'),
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

async function countTokens(call: Call, parts: DecodeParts): Promise<Reply> {
  const { request, notices } = await decoding(await requestBody(call, parts), call, parts);
  refuseWithoutModel(parts.text.state());
  const inputTokens = await parts.chat.countTokens(request, call.signal, ticketFor(call, ''));
  const headers = { ...withIgnored({}, notices.ignored), ...uncountedHeaders(request) };
  return json({ object: 'response.input_tokens', input_tokens: inputTokens }, 200, headers);
}

function newSession(decoded: DecodedRequest, call: Call, { newId, now, store }: DecodeParts): Session {
  const { response, context, input } = decoded;
  return {
    response,
    output: { ...decoded, newId },
    now,
    compacts: decoded.request.compaction !== undefined,
    keep(finished: ResponseObject): ResponseObject {
      // The client of an aborted call never learned the id.
      if (!response.store || call.signal.aborted) return finished;
      const stored = store.put({ id: response.id, response: finished, context, input, output: finished.output });
      return stored ? finished : { ...finished, store: false };
    },
  };
}

function retrieve(call: Call, state: OwnState): Reply {
  const { id, action } = targetOf(call);
  const stored = storedOf(id, state);
  const query = Object.fromEntries(call.query);
  if (action === 'input_items') {
    const items = inputItems(readFields(inputItemsFields, query), stored.input);
    return json(items, 200, ignoredHeader(inputItemsFields, query));
  }
  if (action !== undefined) throw notFound(call);
  const response = stored.response as ResponseObject;
  const headers = ignoredHeader(retrieveFields, query);
  const { stream, starting_after: refusal } = readFields(retrieveFields, query);
  if (!stream) return json(response, 200, headers);
  if (refusal) throw refusal;
  const finished = async (): Promise<ResponseObject | undefined> => {
    await state.background.finished(id);
    return state.store.get(id)?.response as ResponseObject | undefined;
  };
  return eventStream(replay(response, finished), headers);
}

function forget(call: Call, state: OwnState): Reply {
  const { id, action } = targetOf(call);
  storedOf(id, state);
  if (action !== undefined) throw notFound(call);
  state.store.delete(id);
  void state.background.cancel(id);
  return json({ id, object: 'response', deleted: true });
}

async function cancel(call: Call, state: OwnState): Promise<Reply> {
  const { id, action } = targetOf(call);
  if (action !== 'cancel') throw notFound(call);
  const { response } = storedOf(id, state);
  if (response.background !== true) throw wrong('response_id', 'that of a response in the background');
  await state.background.cancel(id);
  return json(state.store.get(id)?.response ?? response);
}

/** The parts of the path after `/responses/`. */
function targetOf({ path }: Call) {
  const [id = '', action, ...more] = path.slice(path.lastIndexOf('/responses/') + '/responses/'.length).split('/');
  return { id: percentDecoded(id), action: more.length > 0 ? path : action };
}

function storedOf(id: string, { store }: OwnState) {
  const stored = store.get(id);
  if (!stored) throw new AppError('not-stored', { what: 'stored response', id });
  return stored;
}

function notFound({ method, path }: Call): AppError {
  return new AppError('not-found', { method, path });
}

/** One page; `after` is the last item of the page before. */
function inputItems({ order, after, limit }: Fields<typeof inputItemsFields>, input: readonly StoredItem[]): object {
  const items = order === 'asc' ? input : input.toReversed();
  const start = after === undefined ? 0 : items.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) throw wrong('after', 'the id of an input item of this response');
  const data = items.slice(start, start + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + limit < items.length,
  };
}
