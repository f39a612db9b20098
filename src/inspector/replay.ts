import { text as collected } from 'node:stream/consumers';
import type { WireBody } from '../chat/openai-request.ts';
import type { ChatRequest } from '../chat/request.ts';
import { AppError, asAppError } from '../core/errors.ts';
import type { GenerationControls, GenerationRequest } from '../core/request.ts';
import type { Call, Headers, Reply } from '../http/call.ts';
import type { EncodeOptions } from '../protocols/controls/encode-request.ts';
import type { DialectContext } from '../protocols/dialect.ts';
import type { ModelEndpoint } from '../protocols/endpoint.ts';
import { differences } from './difference.ts';
import { playbackContext } from './playback.ts';
import type { NeutralRequest, RequestRecord } from './record.ts';
import { sentObject } from './view.ts';

/** The endpoints of a dialect that answer one kind of request. Most have one for both forms of a reply. */
interface EndpointPair<Context> {
  readonly streamed: ModelEndpoint<Context>;
  readonly whole: ModelEndpoint<Context>;
}

/** Writes a neutral request as a body of a dialect. */
export interface ReplayTarget<Context, Request> extends EndpointPair<Context> {
  encode(request: Request, options: EncodeOptions & { readonly replies: number }): WireBody;
  /** The controls of a request that sets none. */
  defaults(context: Context): GenerationControls;
  /** The fields of the original API. */
  readonly ownFields: readonly string[];
}

/** A dialect in which recorded requests can be shown. */
export interface ReplayDialect<Context> {
  readonly name: string;
  readonly title: string;
  readonly chat?: ReplayTarget<Context, ChatRequest>;
  readonly text?: ReplayTarget<Context, GenerationRequest>;
  /** The endpoints whose requests are in this dialect already, by their paths. */
  readonly own: Readonly<Record<string, EndpointPair<Context>>>;
}

/** How a record can be shown in a dialect, or why it cannot. */
type ReplayMode = { readonly type: 'own' | 'chat' | 'text' } | { readonly type: 'impossible'; readonly reason: string };

const impossible = (reason: string): ReplayMode => ({ type: 'impossible', reason });

export function replayMode<Context>(record: RequestRecord, dialect: ReplayDialect<Context>): ReplayMode {
  const { neutral } = record;
  const missing = notReplayable(record);
  if (missing !== undefined || !neutral) return impossible(missing ?? 'Nothing was generated.');
  if (ownPair(record, dialect) && sentObject(record)) return { type: 'own' };
  const isChat = neutral.kind === 'chat';
  if (isChat && dialect.chat) return { type: 'chat' };
  if (!dialect.text) return impossible('A text to be continued has no messages, and this is a dialect of chats.');
  const runs = record.generations.length;
  if (isChat && (record.replies.length > 1 || runs !== 1))
    return impossible(`This chat took ${runs} generations; a dialect of texts shows one.`);
  return oneGeneration(record) ? { type: 'text' } : impossible('Its prompt was too large to be kept.');
}

function notReplayable(record: RequestRecord): string | undefined {
  const { neutral, replies, generations } = record;
  if (record.neutralPreview === undefined)
    return 'It was refused before it was read, so there is nothing to translate.';
  if (!neutral) {
    const isText = typeof record.neutralPreview === 'object' && generations.length > 0;
    return isText ? 'It was too large to be kept whole.' : 'Only chats and texts can be translated.';
  }
  const runs = neutral.kind === 'chat' ? replies : generations;
  if (runs.length === 0 || runs.every(({ events }) => events.length === 0)) return 'No generation began.';
  if (record.eventsCut) return 'Its events were too many to be kept whole.';
  const over = runs.every(({ events }) => ['finish', 'error'].includes(events.at(-1)?.type ?? ''));
  return over ? undefined : 'It is still running. Try again when it has ended.';
}

function ownPair<Context>({ head }: RequestRecord, { own }: ReplayDialect<Context>): EndpointPair<Context> | undefined {
  return Object.hasOwn(own, head.endpoint) ? own[head.endpoint] : undefined;
}

function oneGeneration({ generations }: RequestRecord): GenerationRequest | undefined {
  return generations[0]?.request;
}

/** A recorded request and its reply in one form of a dialect. */
interface ReplayedForm {
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The recorded reply goes through the endpoints of a dialect again, streamed and whole. Nothing is generated. */
export async function replay<Context extends DialectContext>(
  record: RequestRecord,
  dialect: ReplayDialect<Context>,
  context: Context,
  signal: AbortSignal,
) {
  const showing = replayMode(record, dialect);
  if (showing.type === 'impossible') throw new AppError('not-replayable', { reason: showing.reason });
  const plan = planOf(record, dialect, context, showing.type);
  const streamed = await replayedForm(record, plan.streamed, plan.body(true), context, signal);
  const whole = await replayedForm(record, plan.whole, plan.body(false), context, signal);
  return {
    as: dialect.name,
    title: dialect.title,
    kind: showing.type === 'own' ? (record.neutral?.kind ?? null) : showing.type,
    own: showing.type === 'own',
    ...(showing.type === 'text' && record.neutral?.kind === 'chat' && { note: asTextNote }),
    lost:
      plan.intended === undefined
        ? []
        : [...differences(plan.intended, whole.decoded), ...lostReplies(record, dialect)],
    extensions: extensionsOf(plan.body(false), plan.ownFields),
    streamed: streamed.form,
    whole: whole.form,
  };
}

const asTextNote =
  'The chat as plain text: the prompt is what the chat template made of the conversation, and the reply is what the model wrote, with its marks of thinking and calls.';

interface Plan<Context> extends EndpointPair<Context> {
  body(stream: boolean): WireBody;
  readonly ownFields: readonly string[] | undefined;
  /** What the body has to mean; undefined for the request as it was sent. */
  readonly intended: unknown;
}

function planOf<Context extends DialectContext>(
  record: RequestRecord,
  dialect: ReplayDialect<Context>,
  context: Context,
  type: 'own' | 'chat' | 'text',
): Plan<Context> {
  const pair = ownPair(record, dialect);
  if (type === 'own' && pair) {
    const sent = sentObject(record) ?? {};
    const byPath = pair.streamed !== pair.whole;
    const body = (stream: boolean): WireBody => (byPath ? { ...sent } : { ...sent, stream });
    return { ...pair, body, ownFields: undefined, intended: undefined };
  }
  const options = { model: record.model, replies: Math.max(1, record.replies.length) };
  const neutral = record.neutral as NeutralRequest;
  if (type === 'chat' && dialect.chat && neutral.kind === 'chat') {
    const { chat } = dialect;
    const defaults = chat.defaults(context);
    const body = (stream: boolean) => chat.encode(neutral.request, { ...options, defaults, stream });
    return { ...chat, body, intended: neutral.request };
  }
  const { text } = dialect;
  const request = oneGeneration(record);
  if (!text || !request) throw new AppError('not-replayable', { reason: 'There is no such form.' });
  const defaults = text.defaults(context);
  return { ...text, body: (stream) => text.encode(request, { ...options, defaults, stream }), intended: request };
}

/** Only one dialect asks for several replies at once. */
function lostReplies<Context>({ replies, generations, neutral }: RequestRecord, { name }: ReplayDialect<Context>) {
  const count = neutral?.kind === 'chat' ? replies.length : generations.length;
  return count > 1 && name !== 'openai' ? [{ field: 'replies', was: count, becomes: 1 }] : [];
}

/** The fields that only this server (and those that copy them) know; `options.top_k` of an object of options. */
function extensionsOf(body: WireBody, ownFields: readonly string[] | undefined): readonly string[] {
  if (!ownFields) return [];
  const names = Object.entries(body).flatMap(([name, value]) =>
    name === 'options' ? ['options', ...Object.keys(value as object).map((option) => `options.${option}`)] : [name],
  );
  return names.filter((name) => !ownFields.includes(name));
}

async function replayedForm<Context extends DialectContext>(
  record: RequestRecord,
  endpoint: ModelEndpoint<Context>,
  body: WireBody,
  context: Context,
  signal: AbortSignal,
): Promise<{ readonly form: ReplayedForm; readonly decoded: unknown }> {
  let decoded: unknown;
  const call: Call = {
    id: record.head.id,
    method: endpoint.method,
    path: endpoint.path,
    query: new URLSearchParams(),
    headers: {},
    body: Buffer.from(JSON.stringify(body)),
    remoteAddress: record.head.remoteAddress,
    signal,
    authorized: true,
    watch: {
      decoded: (request) => {
        decoded = request;
      },
    },
  };
  const reply = await handled(endpoint, call, playbackContext(context, record));
  const { status, headers = {} } = reply;
  const text = await textOf(reply);
  return { form: { path: endpoint.path, body, status, headers, text }, decoded };
}

async function handled<Context>(endpoint: ModelEndpoint<Context>, call: Call, context: Context): Promise<Reply> {
  try {
    return await endpoint.handle(call, context);
  } catch (error) {
    return endpoint.dialect.errorReply(asAppError(error), call.id);
  }
}

async function textOf(reply: Reply): Promise<string> {
  if ('stream' in reply) return collected(reply.stream);
  return typeof reply.body === 'string' ? reply.body : Buffer.from(reply.body).toString();
}
