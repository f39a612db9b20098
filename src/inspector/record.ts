import type { ChatRequest } from '../chat/request.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { ObservedRequest, RequestObserver, ResponseEnd } from '../core/request-observer.ts';
import type { Clock } from '../core/timers.ts';
import { preview } from './preview.ts';
import { bodySecrets, redactedHeaders, sentSecrets } from './redact.ts';

/** Limits of the record of one request; the record says what was cut. */
export const limits = {
  bodyBytes: 1024 * 1024,
  /** Neutral request, final prompt: of each. */
  requestCharacters: 1024 * 1024,
  /** By `eventCost`, of all events of a request. */
  eventBytes: 4 * 1024 * 1024,
  sentCharacters: 1024 * 1024,
  /** Generations of one request: tools of the server, several replies. */
  generations: 128,
};

/** Events with the milliseconds since the request arrived. */
export interface TimedEvents {
  readonly events: GenerationEvent[];
  readonly times: number[];
}

/** One run of the text engine. */
export interface RecordedGeneration extends TimedEvents {
  /** Undefined if it never began. */
  contextSize: number | undefined;
  /** As it was given to the engine; undefined if it was too large. */
  readonly request: GenerationRequest | undefined;
  /** The same for display. */
  readonly preview: unknown;
}

/** What a dialect made of a request that text answers. */
export type NeutralRequest =
  | { readonly kind: 'chat'; readonly request: ChatRequest }
  | { readonly kind: 'text'; readonly requests: readonly GenerationRequest[] };

/** Milliseconds since the request arrived. */
interface PhaseTimes {
  authorized?: number;
  received?: number;
  decoded?: number;
  /** Its last turn, if it had several. */
  turn?: number;
  begun?: number;
  firstToken?: number;
  replied?: number;
  firstByte?: number;
  ended?: number;
}

/** What a record tells its store. */
interface RecordStore {
  grew(bytes: number): void;
  /** Its client has access. */
  admitted(): void;
}

/** The record of one request. It grows while the request runs, also after its connection is gone. */
export class RequestRecord implements RequestObserver {
  /** Counts all requests since the start. */
  readonly number: number;
  readonly startedAt: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Never shown. */
  secrets: readonly string[];
  /** What it holds, roughly; the store keeps the sum of all bounded. */
  bytes = 1024;
  key: string | undefined;
  model = '';
  /** Undefined for a form, whose files are not kept. */
  body: { readonly bytes: number; readonly content: Uint8Array } | undefined;
  /** Undefined before it is decoded, if it was too large, and for engines that are not for text. */
  neutral: NeutralRequest | undefined;
  neutralPreview: unknown;
  /** What was changed in the conversation, in sentences. */
  changes: readonly string[] = [];
  readonly generations: RecordedGeneration[] = [];
  readonly replies: TimedEvents[] = [];
  eventsCut = false;
  status: number | undefined;
  replyHeaders: Readonly<Record<string, string>> = {};
  readonly sent: (string | Uint8Array)[] = [];
  sentBytes = 0;
  sentCut = false;
  end: ResponseEnd | undefined;
  waitedMs = 0;
  readonly times: PhaseTimes = {};
  readonly tasks: { readonly kind: string; readonly begun: number; ended?: number; error?: string }[] = [];
  #eventBytes = 0;
  readonly #startedTick: number;
  readonly #byRequest = new WeakMap<GenerationRequest, RecordedGeneration>();

  constructor(
    readonly head: ObservedRequest,
    private readonly clock: Clock & { readonly number: number },
    private readonly store: RecordStore,
  ) {
    this.number = clock.number;
    this.startedAt = clock.now();
    this.#startedTick = clock.tick();
    this.headers = redactedHeaders(head.headers);
    this.secrets = sentSecrets(head.headers);
  }

  authorized(key: string | undefined, known: boolean): void {
    if (known) this.store.admitted();
    this.key = key;
    this.times.authorized = this.#elapsed();
  }

  received(body: Uint8Array): void {
    this.times.received = this.#elapsed();
    // A copy: the rest of the body, and the buffer that it is a part of, are freed.
    this.body = { bytes: body.length, content: new Uint8Array(body.subarray(0, limits.bodyBytes)) };
    this.#grow(this.body.content.length);
    this.secrets = [...this.secrets, ...bodySecrets(Buffer.from(this.body.content).toString('utf8'))];
  }

  modelSelected(name: string): void {
    this.model = name;
  }

  rearranged(changes: readonly string[]): void {
    this.changes = changes;
  }

  decoded(request: unknown): void {
    this.times.decoded = this.#elapsed();
    const { hosted } = request as Partial<ChatRequest>;
    const sent = hosted?.mcp?.flatMap(({ headers = {} }) => Object.values(headers)) ?? [];
    this.secrets = [...this.secrets, ...sentSecrets({ authorization: sent })];
    this.neutralPreview = preview(request, limits.requestCharacters);
    const size = neutralSize(request, this.body?.bytes ?? 0);
    this.#grow(2 * Math.min(size, limits.requestCharacters));
    this.neutral = size <= limits.requestCharacters ? neutralOf(request) : undefined;
    for (const one of this.neutral?.kind === 'text' ? this.neutral.requests : []) this.#generationOf(one);
  }

  dequeued(waitedMs: number): void {
    this.waitedMs += waitedMs;
    this.times.turn = this.#elapsed();
  }

  taskBegun(kind: string): void {
    this.times.begun ??= this.#elapsed();
    if (this.tasks.length < limits.generations) this.tasks.push({ kind, begun: this.#elapsed() });
  }

  taskEnded(kind: string, error: Error | undefined): void {
    const task = this.tasks.findLast((one) => one.kind === kind && one.ended === undefined);
    if (task) Object.assign(task, { ended: this.#elapsed(), ...(error && { error: error.message }) });
  }

  generationBegun(request: GenerationRequest, contextSize: number): void {
    this.times.begun ??= this.#elapsed();
    const generation = this.#generationOf(request);
    if (generation) generation.contextSize = contextSize;
  }

  event(event: GenerationEvent, _job: number, request: GenerationRequest): void {
    if (isContent(event)) this.times.firstToken ??= this.#elapsed();
    const generation = this.#generationOf(request);
    if (generation) this.#add(generation, event);
  }

  replyEvent(reply: number, event: GenerationEvent): void {
    while (this.replies.length <= reply && this.replies.length < limits.generations) {
      this.replies.push({ events: [], times: [] });
    }
    const timed = this.replies[reply];
    if (timed) this.#add(timed, event);
  }

  replied(status: number, headers: Readonly<Record<string, string>>): void {
    this.times.replied = this.#elapsed();
    this.status = status;
    this.replyHeaders = redactedHeaders(headers);
  }

  wrote(piece: string | Uint8Array): void {
    this.times.firstByte ??= this.#elapsed();
    const before = this.sentBytes;
    const bytes = typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;
    this.sentBytes += bytes;
    if (this.sentCut || before + bytes > limits.sentCharacters) {
      this.sentCut = true;
      return;
    }
    this.sent.push(typeof piece === 'string' ? piece : new Uint8Array(piece));
    this.#grow(bytes);
  }

  ended(how: ResponseEnd): void {
    this.end = how;
    this.times.ended = this.#elapsed();
  }

  #elapsed(): number {
    return this.clock.tick() - this.#startedTick;
  }

  #generationOf(request: GenerationRequest): RecordedGeneration | undefined {
    const known = this.#byRequest.get(request);
    if (known || this.generations.length >= limits.generations) return known;
    const size = request.prompt.length + request.memory.length + mediaSize(request.media);
    const small = size <= limits.requestCharacters;
    const generation: RecordedGeneration = {
      contextSize: undefined,
      request: small ? request : undefined,
      preview: preview(request, limits.requestCharacters),
      events: [],
      times: [],
    };
    this.#grow(2 * Math.min(size, limits.requestCharacters));
    this.#byRequest.set(request, generation);
    this.generations.push(generation);
    return generation;
  }

  #add({ events, times }: TimedEvents, event: GenerationEvent): void {
    const cost = eventCost(event);
    // The last event is always kept: it has the figures.
    if (this.#eventBytes + cost > limits.eventBytes && event.type !== 'finish' && event.type !== 'error') {
      this.eventsCut = true;
      return;
    }
    this.#eventBytes += cost;
    events.push(event);
    times.push(this.#elapsed());
    this.#grow(cost);
  }

  #grow(bytes: number): void {
    this.bytes += bytes;
    this.store.grew(bytes);
  }
}

export function isContent({ type }: GenerationEvent): boolean {
  return type === 'text-delta' || type === 'reasoning-delta' || type === 'tool-start';
}

function eventCost(event: GenerationEvent): number {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta': {
      const tokens = event.logprobs?.reduce((sum, { top }) => sum + 1 + top.length, 0) ?? 0;
      return 64 + event.text.length + tokens * 128;
    }
    case 'tool-delta':
      return 64 + event.json.length;
    case 'prompt-logprobs':
      return 64 + event.tokens.reduce((sum, { top }) => sum + (1 + top.length) * 128, 0);
    default:
      return 256;
  }
}

function neutralOf(request: unknown): NeutralRequest | undefined {
  if (Array.isArray(request)) return request.every(isText) ? { kind: 'text', requests: request } : undefined;
  if (isText(request)) return { kind: 'text', requests: [request] };
  return isChat(request) ? { kind: 'chat', request } : undefined;
}

/** No other neutral request has a sampling. */
function isText(request: unknown): request is GenerationRequest {
  return typeof request === 'object' && request !== null && 'prompt' in request && 'sampling' in request;
}

export function isChat(request: unknown): request is ChatRequest {
  return typeof request === 'object' && request !== null && 'conversation' in request && 'controls' in request;
}

/** A neutral request is about as large as its body; media may come from addresses. */
function neutralSize(request: unknown, bodyBytes: number): number {
  const media = isChat(request) ? request.conversation.media : isText(request) ? request.media : [];
  return Math.max(bodyBytes, mediaSize(media));
}

function mediaSize(media: GenerationRequest['media']): number {
  return media.reduce((sum, { base64 }) => sum + base64.length, 0);
}
