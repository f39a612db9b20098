import { randomBytes } from 'node:crypto';
import type { ChatRequest } from '../chat/request.ts';
import type { ChatService } from '../chat/service.ts';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import { type EndpointFidelity, ignoredFields } from '../core/fidelity.ts';
import { findExactly, findNamed } from '../core/model-names.ts';
import type { ListedModel, ModelsView } from '../core/models-view.ts';
import type { GenerationControls, QueueStatus, ReasoningBudget } from '../core/request.ts';
import type { TaskServices } from '../core/task-services.ts';
import type { TextService } from '../core/text-service.ts';
import type { JsonObject } from '../http/body.ts';
import type { Headers, Reply } from '../http/call.ts';
import { awaitFirstEvent, keepAliveMs, queueStatusComments, type StartedStream } from '../http/keep-alive.ts';
import type { Fetched } from '../http/outgoing.ts';
import type { StartTimer } from '../http/timers.ts';
import { type ControlParts, decodeControls, effortShares, idleFields, withAdapterLength } from './controls/decode.ts';
import type { Controls } from './controls/table.ts';
import { isObject } from './fields/readers.ts';
import type { CallTicket } from './ticket.ts';

/** What every chat dialect is built on; each adds only its own way of saying things. */
export interface DialectParts {
  readonly text: TextService;
  readonly chat: ChatService;
  /** What the server can do beside text. */
  readonly others?: TaskServices;
  /** Read anew for each request: the context size is known only once the model is. */
  readonly controlParts: () => ControlParts;
  /** `--gendefaults`: to be applied to the body before anything is read from it. */
  readonly applyDefaults: (body: JsonObject) => JsonObject;
  readonly overflow: 'trim' | 'refuse';
  readonly modelName: () => string;
  /** All models, where there are several by name or one can be swapped. */
  readonly models?: ModelsView | undefined;
  /** `--modelalias`: the model that a name means which no model has itself. */
  readonly alias?: ((name: string) => string | undefined) | undefined;
  /** Milliseconds since 1970, as is `startedAt`. */
  readonly now: () => number;
  /** When the server started. Model lists give it as the age of models, which must not change between two calls. */
  readonly startedAt: number;
  readonly newId: (prefix: string) => string;
  readonly startTimer: StartTimer;
  /** Brings what a client names by its address; only places on the public internet unless this says otherwise. */
  readonly fetchMedia?: FetchMedia;
}

export type FetchMedia = (url: string, signal: AbortSignal) => Promise<Fetched>;

/** What a dialect of chats is built on for one request, which may bring an adapter of its own. */
export function chatParts<Parts extends DialectParts>(parts: Parts, body: JsonObject): Parts {
  const withLength = withAdapterLength(body);
  return { ...parts, controlParts: () => withLength(parts.controlParts()) };
}

/** The native controls that a request may carry beside its own fields; the dialect puts its own over them. */
export function dialectControls(controls: Controls, parts: DialectParts): GenerationControls {
  return { ...decodeControls(controls, parts.controlParts()), overflow: parts.overflow };
}

/**
 * One neutral control for every family's way of asking for more or less thinking. A number of tokens beats a level, and
 * a level that nobody knows means no limit.
 */
export function reasoningControl(
  effort: string | undefined,
  tokens: number | undefined,
): { readonly effort: string | undefined; readonly budget: ReasoningBudget | undefined } {
  if (tokens !== undefined && tokens >= 0) return { effort, budget: { type: 'tokens', tokens } };
  const share = effortShares.get(effort ?? '');
  return { effort, budget: share === undefined ? undefined : { type: 'share', share } };
}

/** Refused rather than dropped: an answer about a picture that the model never saw would be a lie. */
export function refuseMedia(kind: 'image' | 'audio', field: string): AppError {
  const feature = `${kind === 'image' ? 'Image' : 'Audio'} input (${field})`;
  const instead = 'the loaded model has no projector for it; start the server with --mmproj FILE';
  // Families that name the field of a failure find it here.
  const details = { feature, instead, field };
  return new AppError('unsupported', details);
}

/** Fields without effect are told in a header, which every client can see and none must. */
export function noticeHeaders(body: JsonObject, fidelity: EndpointFidelity): Headers {
  return ignoredHeader([...ignoredFields(body, fidelity), ...idleFields(body)]);
}

export function ignoredHeader(fields: readonly string[]): Headers {
  return fields.length > 0 ? { 'x-parley-ignored': fields.join(', ') } : {};
}

const longestList = 1000;

/** A list of the client's own words for a header, whatever script they are in and however many they are. */
export function headerList(entries: readonly string[]): string {
  const told: string[] = [];
  let length = 0;
  for (const entry of entries) {
    const plain = entry.replace(/[^\x20-\x7e]/g, '?');
    const short = plain.length <= longestList / 4 ? plain : `${plain.slice(0, longestList / 4)}...`;
    if (length + short.length > longestList) break;
    length += short.length + 2;
    told.push(short);
  }
  const left = entries.length - told.length;
  return [...told, ...(left > 0 ? [`${left} more`] : [])].join(', ');
}

/** The headers with more of what has no effect. */
export function withIgnored(headers: Headers, fields: readonly string[]): Headers {
  if (fields.length === 0) return headers;
  const told = headers['x-parley-ignored'];
  return { ...headers, 'x-parley-ignored': [...(told === undefined ? [] : [told]), ...fields].join(', ') };
}

/** What an engine could not do as it was asked to; known when it begins. */
export interface Shortfall {
  readonly droppedTokens?: number;
  readonly unheeded?: readonly string[];
}

/** So is text that did not fit, and what only the engine knows that it cannot do. */
export function withShortfall(headers: Headers, { droppedTokens = 0, unheeded = [] }: Shortfall): Headers {
  const dropped = droppedTokens > 0 ? { 'x-parley-dropped-tokens': String(droppedTokens) } : {};
  return withIgnored({ ...headers, ...dropped }, unheeded);
}

/** Of several replies, all that is told of any. */
export function allShortfalls(replies: readonly Shortfall[]): Shortfall {
  return {
    droppedTokens: Math.max(0, ...replies.map(({ droppedTokens = 0 }) => droppedTokens)),
    unheeded: [...new Set(replies.flatMap(({ unheeded = [] }) => unheeded))],
  };
}

/** For a stream, whose headers go out when no more than its first event is known; the engine's warning tells it later. */
export function withStartShortfall(
  headers: Headers,
  { first }: Pick<StartedStream<GenerationEvent>, 'first'>,
): Headers {
  return first?.type === 'start' ? withShortfall(headers, first) : headers;
}

export interface StreamOptions {
  readonly headers: Headers;
  /** Written when nothing else was for a while, so that no proxy gives the connection up. */
  readonly filler: string;
  /** How a client that waits is told what for; a comment unless the dialect has something better. */
  readonly notice?: (standing: QueueStatus) => string;
  readonly ticket: Pick<CallTicket, 'standing'>;
  readonly startTimer: StartTimer;
}

export function streamReply(
  events: AsyncIterable<GenerationEvent>,
  encode: (events: AsyncIterable<GenerationEvent>) => AsyncIterable<string>,
  options: StreamOptions,
): Promise<Reply> {
  return workStream(events, encode, options, withStartShortfall);
}

/**
 * Waits for the first event, so that a refusal keeps its status, and then streams what the dialect makes of them. A request
 * that has to wait for its turn or its model begins its stream after a moment, and tells in it where it stands.
 */
export async function workStream<Event extends { readonly type: string }>(
  events: AsyncIterable<Event>,
  encode: (events: AsyncIterable<Event>) => AsyncIterable<string>,
  { headers, filler, notice, ticket, startTimer }: StreamOptions,
  told: (headers: Headers, begun: StartedStream<Event>) => Headers = (all) => all,
): Promise<Reply> {
  const waits = (): boolean => ticket.standing() !== undefined;
  const begun = await awaitFirstEvent(events, startTimer, waits);
  return {
    status: 200,
    headers: told(headers, begun),
    stream: encode(begun.events),
    keepAlive: { milliseconds: keepAliveMs, filler },
    ...(waits() ? { statusComments: queueStatusComments(ticket.standing, notice) } : {}),
  };
}

/** Random, URL-safe, and long enough never to come twice. */
export function randomId(prefix: string): string {
  return `${prefix}${randomBytes(12).toString('hex')}`;
}

/** Where the families let a client say that it wants no thinking. */
const places: readonly (readonly string[])[] = [
  ['chat_template_kwargs', 'enable_thinking'],
  ['reasoning_effort'],
  ['reasoning', 'effort'],
  ['reasoning', 'enabled'],
  ['thinking'],
  ['think'],
];

/** The fields that ask for a reply without thinking, where the format of the prompt has no way to say so. */
export async function unheededThinking(
  body: JsonObject,
  request: ChatRequest,
  chat: Pick<ChatService, 'thinksAnyway'>,
): Promise<readonly string[]> {
  if (!(await chat.thinksAnyway(request))) return [];
  return places.filter((path) => isOff(valueAt(body, path))).map((path) => path.join('.'));
}

function valueAt(body: JsonObject, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), body);
}

function isOff(value: unknown): boolean {
  return value === false || value === 'none' || value === 'off' || (isObject(value) && value.type === 'disabled');
}

/** All models that can be asked for by name, the present one first; undefined where names choose nothing. */
export async function modelsByName({
  models,
}: Pick<DialectParts, 'models'>): Promise<readonly ListedModel[] | undefined> {
  return models?.byName ? models.list() : undefined;
}

/** A model's own name goes before an alias, and an alias before a name that is only similar. */
export function findModel(
  models: readonly ListedModel[],
  asked: string,
  alias?: DialectParts['alias'],
): ListedModel | undefined {
  const namesOf = ({ id, name, aliases = [] }: ListedModel) => [id, name, ...aliases];
  return findExactly(models, namesOf, asked) ?? findNamed(models, namesOf, alias?.(asked) ?? asked);
}
