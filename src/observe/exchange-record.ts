import { type AppError, asAppError } from '../core/errors.ts';
import type { FinishReason, GenerationEvent, Timings, Usage } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { ObservedRequest, ObserveRequest, RequestObserver, ResponseEnd } from '../core/request-observer.ts';
import { shorten } from './printable.ts';

/** How a request ended, whatever its status: a stream has status 200 before it fails. */
type Outcome = 'done' | 'failed' | 'cut-off' | 'client-gone';

/** A step of a request that is over. Times are milliseconds since the head of the request arrived. */
export interface Phase {
  readonly name: 'body' | 'queue' | 'load' | 'prompt' | 'generation' | 'task';
  readonly from: number;
  readonly to: number;
  /** The kind of engine, for `load` and `task`. */
  readonly kind?: string;
  readonly model?: string;
  readonly error?: AppError | undefined;
  /** The figures of a generation, for `generation`. */
  readonly finish?: Finish;
}

type Finish = Pick<Extract<GenerationEvent, { type: 'finish' }>, 'reason' | 'usage' | 'timings'>;

const noTotals = {
  generations: 0,
  promptTokens: 0,
  cachedTokens: 0,
  completionTokens: 0,
  processedTokens: 0,
  promptMs: 0,
  generationMs: 0,
};

/** Times between two tokens, counted by these upper bounds (in seconds) while the tokens come. */
export const tokenGapSeconds = [
  0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 10,
] as const;
const gapBoundsMs = tokenGapSeconds.map((seconds) => seconds * 1000);

interface TokenGaps {
  /** By bucket, not cumulative; the last one is above all bounds. */
  readonly counts: Uint32Array;
  sumMs: number;
}

/** A request with thousands of generations must not fill the memory: further phases count in the totals only. */
const maxPhases = 100;
const maxReasons = 16;
const maxWarnings = 8;

export interface RecordOptions {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Milliseconds since 1970. */
  readonly time: () => number;
  /** Keep beginnings and ends of prompts and replies, for a log that shows them. */
  readonly content?: boolean;
  readonly traceparent?: ((head: ObservedRequest) => string | undefined) | undefined;
  /** Called once for each request when its response and all its work are over. Must not throw. */
  readonly over: readonly ((record: ExchangeRecord) => void)[];
}

/** Keeps the figures of each request until it is over, for metrics, logs and traces. */
export function recordExchanges(options: RecordOptions): ObserveRequest {
  return (head) => new ExchangeRecord(head, options);
}

interface RunningGeneration {
  readonly job: number;
  readonly from: number;
  firstAt: number | undefined;
  lastAt: number;
}

/**
 * What happened to one request. It is kept alive only by the request and its jobs, and is reported when the response has ended and
 * every job has left, in whichever order.
 */
export class ExchangeRecord implements RequestObserver {
  readonly startedAt: number;
  readonly traceparent: string | undefined;
  key: string | undefined;
  /** The first model that was used. */
  model: string | undefined;
  /** Kinds of engines whose work was admitted. */
  readonly kinds: string[] = [];
  status: number | undefined;
  end: ResponseEnd | undefined;
  error: AppError | undefined;
  /** From the head to the last byte of the response. */
  durationMs = 0;
  /** From the head to the end of all work, which may outlive the response. */
  totalMs = 0;
  queueMs: number | undefined;
  loadMs: number | undefined;
  firstTokenMs: number | undefined;
  readonly phases: Phase[] = [];
  readonly finishReasons: FinishReason[] = [];
  /** Tokens a second of each prompt and reply, as far as they are known. */
  readonly promptSpeeds: number[] = [];
  readonly replySpeeds: number[] = [];
  /** Tokens and times of all generations. */
  readonly totals = { ...noTotals };
  gaps: TokenGaps | undefined;
  readonly warnings: string[] = [];
  /** Of the first generation. */
  request: Pick<GenerationRequest, 'maxTokens' | 'sampling'> | undefined;
  prompt: string | undefined;
  reply = '';
  readonly #began: number;
  #authorizedAt = 0;
  #jobs = 0;
  #ended = false;
  #over = false;
  #current: RunningGeneration | undefined;
  #others: RunningGeneration[] = [];

  constructor(
    readonly head: ObservedRequest,
    private readonly options: RecordOptions,
  ) {
    this.startedAt = options.time();
    this.#began = options.now();
    this.traceparent = options.traceparent?.(head);
  }

  get outcome(): Outcome {
    if (this.end === 'failed') return 'cut-off';
    if (this.end === 'client-gone') return 'client-gone';
    return this.error || (this.status ?? 0) >= 400 ? 'failed' : 'done';
  }

  /** Whether the server is at fault: not for what the client did wrong. */
  get broken(): boolean {
    const { outcome, status = 500 } = this;
    return outcome === 'cut-off' || (outcome === 'failed' && (status < 400 || status >= 500));
  }

  authorized(key: string | undefined): void {
    this.key = key;
    this.#authorizedAt = this.#elapsed();
  }

  received(): void {
    if (this.head.method === 'GET') return;
    this.#phase({ name: 'body', from: this.#authorizedAt, to: this.#elapsed() });
  }

  queued(kind: string): void {
    this.#jobs += 1;
    if (!this.kinds.includes(kind)) this.kinds.push(kind);
  }

  dequeued(waitedMs: number): void {
    this.queueMs = (this.queueMs ?? 0) + waitedMs;
    this.#past({ name: 'queue' }, waitedMs);
  }

  engineReady(kind: string, model: string, waitedMs: number, error: unknown): void {
    this.model ??= model || undefined;
    this.loadMs = (this.loadMs ?? 0) + waitedMs;
    this.#past({ name: 'load', kind, model, error: error === undefined ? undefined : asAppError(error) }, waitedMs);
  }

  taskEnded(kind: string, error: AppError | undefined, milliseconds: number): void {
    if (error && error.code !== 'stopped') this.error ??= error;
    this.#past({ name: 'task', kind, ...(this.model === undefined ? {} : { model: this.model }), error }, milliseconds);
  }

  generationBegun(request: GenerationRequest, _contextSize: number, job: number): void {
    if (this.#current) this.#others.push(this.#current);
    this.#others = this.#others.filter((other) => other.job !== job);
    this.#current = { job, from: this.#elapsed(), firstAt: undefined, lastAt: 0 };
    this.request ??= request;
    if (this.options.content) this.prompt ??= shorten(request.prompt);
  }

  /** Called for each token: no allocation, one look at the clock. */
  event(event: GenerationEvent, job: number): void {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
        if (this.options.content) this.reply += event.text;
        this.#token(job);
        return;
      case 'tool-start':
      case 'tool-delta':
        this.#token(job);
        return;
      case 'warning':
        if (this.warnings.length < maxWarnings) this.warnings.push(event.text);
        return;
      case 'finish':
        this.#finished(event, job);
        return;
      case 'error':
        if (event.error.code !== 'stopped') this.error ??= event.error;
        this.#finished(event, job);
        return;
    }
  }

  errored(error: AppError): void {
    this.error ??= error;
  }

  replied(status: number): void {
    this.status = status;
  }

  ended(how: ResponseEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.end = how;
    this.durationMs = this.#elapsed();
    this.#report();
  }

  left(): void {
    this.#jobs -= 1;
    this.#report();
  }

  #report(): void {
    if (!this.#ended || this.#jobs > 0 || this.#over) return;
    this.#over = true;
    this.totalMs = this.#elapsed();
    for (const over of this.options.over) over(this);
  }

  #token(job: number): void {
    const at = this.options.now() - this.#began;
    const generation = this.#current?.job === job ? this.#current : this.#generationOf(job);
    if (!generation) return;
    if (generation.firstAt === undefined) {
      generation.firstAt = at;
      this.firstTokenMs ??= at;
    } else {
      const gap = at - generation.lastAt;
      this.gaps ??= { counts: new Uint32Array(gapBoundsMs.length + 1), sumMs: 0 };
      let bucket = 0;
      while (bucket < gapBoundsMs.length && gap > (gapBoundsMs[bucket] as number)) bucket += 1;
      (this.gaps.counts[bucket] as number) += 1;
      this.gaps.sumMs += gap;
    }
    generation.lastAt = at;
  }

  #generationOf(job: number): RunningGeneration | undefined {
    return this.#current?.job === job ? this.#current : this.#others.find((other) => other.job === job);
  }

  #finished(event: Extract<GenerationEvent, { type: 'finish' | 'error' }>, job: number): void {
    const generation = this.#generationOf(job);
    // It never ran.
    if (!generation) return;
    if (generation === this.#current) this.#current = undefined;
    else this.#others = this.#others.filter((other) => other !== generation);
    const to = this.#elapsed();
    const model = this.model === undefined ? {} : { model: this.model };
    const firstAt = generation.firstAt ?? to;
    this.#phase({ name: 'prompt', from: generation.from, to: firstAt, ...model });
    if (event.type === 'finish') this.#count(event);
    const how = event.type === 'finish' ? { finish: event } : { error: event.error };
    this.#phase({ name: 'generation', from: firstAt, to, ...model, ...how });
  }

  #count({ reason, usage, timings }: { reason: FinishReason; usage: Usage; timings: Timings }): void {
    const { totals } = this;
    totals.generations += 1;
    totals.promptTokens += usage.promptTokens;
    totals.cachedTokens += usage.cachedTokens;
    totals.completionTokens += usage.completionTokens;
    totals.processedTokens += timings.processedTokens;
    totals.promptMs += timings.promptMs;
    totals.generationMs += timings.generationMs;
    if (this.finishReasons.length < maxReasons) this.finishReasons.push(reason);
    if (this.promptSpeeds.length >= maxPhases) return;
    const promptSpeed = perSecond(timings.processedTokens, timings.promptMs);
    if (promptSpeed !== undefined) this.promptSpeeds.push(promptSpeed);
    const replySpeed = perSecond(usage.completionTokens, timings.generationMs);
    if (replySpeed !== undefined) this.replySpeeds.push(replySpeed);
  }

  #past(phase: Omit<Phase, 'from' | 'to'>, milliseconds: number): void {
    const to = this.#elapsed();
    this.#phase({ ...phase, from: Math.max(0, to - milliseconds), to });
  }

  #phase(phase: Phase): void {
    if (this.phases.length < maxPhases) this.phases.push(phase);
  }

  #elapsed(): number {
    return this.options.now() - this.#began;
  }
}

/** Undefined where nothing was done, or in no time. */
export function perSecond(tokens: number, milliseconds: number): number | undefined {
  return tokens > 0 && milliseconds > 0 ? (tokens * 1000) / milliseconds : undefined;
}
