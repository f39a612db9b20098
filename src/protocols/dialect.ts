import type { InstructText } from '../chat/placeholders.ts';
import type { ChatRequest } from '../chat/request.ts';
import type { ChatService } from '../chat/service.ts';
import { AppError } from '../core/errors.ts';
import type { Compaction } from '../core/events.ts';
import { randomHex } from '../core/ids.ts';
import { findExactly, findNamed } from '../core/model-names.ts';
import type { ListedModel, ModelsView } from '../core/models-view.ts';
import type { GenerationControls, PromptProgress, QueueStatus, ReasoningBudget } from '../core/request.ts';
import type { TaskServices } from '../core/task-services.ts';
import type { TextService, TextState } from '../core/text-service.ts';
import type { StartTimer } from '../core/timers.ts';
import type { JsonObject } from '../http/body.ts';
import type { Headers, Reply } from '../http/call.ts';
import {
  awaitFirstEvent,
  keepAliveMs,
  promptProgressComment,
  queueStatusComments,
  type StartedStream,
  statusAndProgressComments,
} from '../http/keep-alive.ts';
import type { Fetched } from '../http/outgoing.ts';
import { commentFrame, sseHeaders } from '../http/sse.ts';
import { type ControlLimits, decodeControls, effortShares } from './controls/decode.ts';
import type { Controls } from './controls/table.ts';
import type { DocumentServices } from './documents/library.ts';
import { ignoredIn, type Table } from './fields.ts';
import type { CallContext } from './request-context.ts';

/** What is the same for all models: the argument of the endpoints of a dialect. */
export interface DialectServices extends DocumentServices {
  /** All models, where there are several by name or one can be swapped. */
  readonly models?: ModelsView | undefined;
  /** `--modelalias`. */
  readonly alias?: ((name: string) => string | undefined) | undefined;
  /** Milliseconds since 1970, as is `startedAt`. */
  readonly now: () => number;
  /** When the server started: model lists use it as the date of models, which must not change. */
  readonly startedAt: number;
  readonly newId: (prefix: string) => string;
  readonly startTimer: StartTimer;
  /** Default: only addresses on the public internet. */
  readonly fetchMedia?: FetchMedia;
}

/** What a model is to a dialect. */
export interface DialectModel {
  readonly text: TextService;
  readonly chat: ChatService;
  /** The engines of other kinds. */
  readonly taskServices?: TaskServices;
  /** Called for each request: the context size is unknown until the model is loaded. */
  readonly controlLimits: () => ControlLimits;
  /** `--gendefaults`: applied to the body before it is read. Those of image fields are for bodies of images only. */
  readonly applyDefaults: (body: JsonObject, of?: 'text' | 'image') => JsonObject;
  readonly modelName: () => string;
}

/** What the handlers of a dialect use of the model that a request concerns, and of the server. */
export interface DialectContext extends DialectServices, DialectModel {}

/** The context of dialects that continue plain texts. */
export interface CompletionContext extends DialectContext {
  /** Replaces placeholders by the instruct tags of the loaded model. */
  readonly replacePlaceholders: (texts: InstructText) => InstructText;
}

/** Decodes a chat of the OpenAI dialect, for other dialects that take one. */
export type ReadChat = (body: JsonObject, model: DialectModel) => Promise<ChatRequest>;

/** The context of handlers that take such a chat. */
export interface ChatReader extends DialectModel {
  readonly readChat: ReadChat;
}

export type FetchMedia = (url: string, signal: AbortSignal) => Promise<Fetched>;

/** The native controls of a request; the dialect puts its own fields over them. */
export function dialectControls(controls: Controls, limits: ControlLimits): GenerationControls {
  return { ...decodeControls(controls, limits), overflow: limits.overflow };
}

/** A number of tokens wins over a level; an unknown level means no limit. */
export function reasoningControl(effort: string | undefined, tokens: number | undefined) {
  const share = effortShares.get(effort ?? '');
  const shared: ReasoningBudget | undefined = share === undefined ? undefined : { type: 'share', share };
  const budget = tokens !== undefined && tokens >= 0 ? ({ type: 'tokens', tokens } as const) : shared;
  return { effort, budget };
}

/** What the loaded model takes beside text. */
export function modalities(state: TextState): { readonly vision: boolean; readonly audio: boolean } {
  const { image = false, audio = false } = state.type === 'ready' ? state.model.inputs : {};
  return { vision: image, audio };
}

/** Refused rather than ignored: the answer would be about an image that the model has not seen. */
export function refuseMedia(kind: 'image' | 'audio', field: string): AppError {
  const feature = `${kind === 'image' ? 'Image' : 'Audio'} input (${field})`;
  const instead = 'the loaded model has no projector for it; start the server with --mmproj FILE';
  // Some dialects name the field of an error.
  const details = { feature, instead, field };
  return new AppError('unsupported', details);
}

/** The header that names the fields without effect. */
export function ignoredHeader(table: Table, body: JsonObject): Headers {
  return withIgnored({}, ignoredIn(table, body));
}

/** A header with a list of texts; no header for an empty list. */
export function listHeader(name: `x-parley-${string}`, entries: readonly string[]): Headers {
  return entries.length > 0 ? { [name]: headerList(entries) } : {};
}

const maxListLength = 1000;

/** Texts of clients as the value of a header. */
export function headerList(entries: readonly string[]): string {
  return headerEntries(entries).join(', ');
}

/** ASCII only, and limited in length, with the number of entries that are left out. */
export function headerEntries(entries: readonly string[]): readonly string[] {
  const listed: string[] = [];
  let length = 0;
  for (const entry of entries) {
    const plain = entry.replace(/[^\x20-\x7e]/g, '?');
    const short = plain.length <= maxListLength / 4 ? plain : `${plain.slice(0, maxListLength / 4)}...`;
    if (length + short.length > maxListLength) break;
    length += short.length + 2;
    listed.push(short);
  }
  const left = entries.length - listed.length;
  return left > 0 ? [...listed, `${left} more`] : listed;
}

export function withIgnored(headers: Headers, fields: readonly string[]): Headers {
  if (fields.length === 0) return headers;
  const known = headers['x-parley-ignored'];
  return { ...headers, 'x-parley-ignored': [...(known === undefined ? [] : [known]), ...fields].join(', ') };
}

/** What an engine cannot do of a request; known when it starts. */
export interface EngineNotices {
  readonly droppedTokens?: number;
  readonly ignored?: readonly string[];
  readonly compaction?: Compaction | undefined;
}

export function withEngineNotices(
  headers: Headers,
  { droppedTokens = 0, ignored = [], compaction }: EngineNotices,
): Headers {
  const dropped = droppedTokens > 0 ? { 'x-parley-dropped-tokens': String(droppedTokens) } : {};
  const { summarised = 0, cleared = 0, fallback } = compaction ?? {};
  const other = fallback === undefined ? '' : ', compactmodel=failed';
  const shorter = compaction ? { 'x-parley-compacted': `messages=${summarised}, tool_results=${cleared}${other}` } : {};
  return withIgnored({ ...headers, ...dropped, ...shorter }, ignored);
}

export function mergedEngineNotices(replies: readonly EngineNotices[]): EngineNotices {
  const compaction = replies.find((reply) => reply.compaction)?.compaction;
  return {
    droppedTokens: Math.max(0, ...replies.map(({ droppedTokens = 0 }) => droppedTokens)),
    ignored: [...new Set(replies.flatMap(({ ignored = [] }) => ignored))],
    ...(compaction && { compaction }),
  };
}

/** Events of any kind; `start` may have notices. */
type StreamEvent = EngineNotices & { readonly type: string };

/** For a stream, whose headers are sent after its first event. */
export function withStartNotices(headers: Headers, { first }: Pick<StartedStream<StreamEvent>, 'first'>): Headers {
  return first?.type === 'start' ? withEngineNotices(headers, first) : headers;
}

interface StreamOptions {
  /** Win over those of server-sent events. */
  readonly headers: Headers;
  /** Written after a pause, so that no proxy closes the connection. Default: a comment. */
  readonly filler?: string;
  /** Instead of the filler before the first event. */
  readonly initialFiller?: string;
  /** Tells a waiting client its queue status. Default: a comment. */
  readonly notice?: (status: QueueStatus) => string;
  readonly requestContext: Pick<CallContext, 'queueStatus'> & Partial<Pick<CallContext, 'promptProgress'>>;
  readonly startTimer: StartTimer;
}

export const keepAliveComment = commentFrame('keepalive');

/** Server-sent events, unless `headers` has another content type. */
export function eventStream(stream: AsyncIterable<string>, headers: Headers = {}, filler = keepAliveComment) {
  const keepAlive = { milliseconds: keepAliveMs, filler };
  return { status: 200, headers: { ...sseHeaders, ...headers }, stream, keepAlive };
}

/**
 * An error before the first event keeps its status. While queued, the stream has comments about its queue status, and then about
 * how far its prompt is processed.
 */
export async function streamReply<Event extends StreamEvent>(
  events: AsyncIterable<Event>,
  encode: (events: AsyncIterable<Event>) => AsyncIterable<string>,
  { headers, filler = keepAliveComment, initialFiller = filler, notice, requestContext, startTimer }: StreamOptions,
): Promise<Reply> {
  const waits = (): boolean => requestContext.queueStatus() !== undefined;
  const reading = (): PromptProgress | undefined => {
    const progress = notice ? undefined : requestContext.promptProgress?.();
    return progress && progress.total > 0 ? progress : undefined;
  };
  const begun = await awaitFirstEvent(events, startTimer, () => waits() || reading() !== undefined);
  const progress = (): string | undefined => {
    const current = reading();
    return current && filler + promptProgressComment(current);
  };
  const comments = queueStatusComments(requestContext.queueStatus, notice);
  const statusComments = notice
    ? comments
    : statusAndProgressComments(comments, () => requestContext.promptProgress?.(), begun.first !== undefined);
  return {
    ...eventStream(encode(begun.events), withStartNotices(headers, begun), filler),
    keepAlive: {
      milliseconds: keepAliveMs,
      filler,
      initialFiller,
      immediately: begun.first === undefined,
      // A dialect with its own notices has no comments.
      ...(notice ? {} : { progress }),
    },
    ...(waits() || reading() ? { statusComments } : {}),
  };
}

export function randomId(prefix: string): string {
  return `${prefix}${randomHex(12)}`;
}

/** All models that can be requested by name, the default one first; undefined if names select nothing. */
export async function modelsByName({ models }: Pick<DialectContext, 'models'>) {
  if (models?.byName) return models.list();
  const listed = models?.presetsByName ? await models.list() : [];
  return listed.some(({ preset }) => preset) ? listed : undefined;
}

type NamedModel = Pick<ListedModel, 'id' | 'name'> & { readonly aliases?: readonly string[] | undefined };

/** A model's own name comes first, then an alias, then a name that is only similar. */
export function findModel<Model extends NamedModel>(
  models: readonly Model[],
  requested: string,
  alias?: DialectContext['alias'],
): Model | undefined {
  const namesOf = ({ id, name, aliases = [] }: Model) => [id, name, ...aliases];
  return findExactly(models, namesOf, requested) ?? findNamed(models, namesOf, alias?.(requested) ?? requested);
}
