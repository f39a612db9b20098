import type { FromWorker } from '../messages.ts';
import type { Loaded } from './load/model.ts';
import type { DecodeResult } from './memory/context.ts';
import { ThreadCount } from './thread-count.ts';

interface StepThreadsParts {
  /** The most threads, for replies and for prompts. */
  readonly decode: number;
  readonly prefill: number;
  /** Sets the number for the next step. */
  readonly use: (threads: number) => void;
  readonly send: (message: FromWorker) => void;
  readonly now: () => number;
}

/** Chooses the number of threads of each step, apart for replies and for prompts, and reports changes. */
export class StepThreads {
  readonly #decode: ThreadCount;
  readonly #prefill: ThreadCount;
  readonly #reports: Report;
  /** The one of the step that is being computed. */
  #count: ThreadCount;
  #used = 0;
  #startedAt = 0;

  constructor(private readonly parts: StepThreadsParts) {
    this.#decode = new ThreadCount(parts.decode);
    this.#prefill = new ThreadCount(parts.prefill, { growing: true });
    this.#count = this.#decode;
    this.#reports = new Report(parts);
  }

  /** Right before a step. */
  before(isPrefill: boolean, width: number): void {
    const now = this.parts.now();
    this.#count = isPrefill ? this.#prefill : this.#decode;
    this.#count.follow(isPrefill ? this.#decode : this.#prefill, now);
    const threads = this.#count.next(width, now);
    if (threads !== this.#used) this.parts.use(threads);
    this.#used = threads;
    this.#startedAt = this.parts.now();
  }

  /** Right after it. An aborted step says nothing about its time. */
  after(result: DecodeResult): void {
    if (result !== 'ok') return;
    const now = this.parts.now();
    this.#count.took(now - this.#startedAt, now);
    this.#reports.update(this.#decode.current, this.#prefill.current, now);
  }
}

/** A change is shown on the console if it lasts so long, and changes at most once in this time. */
const lastingMs = 5000;
const quietMs = 60_000;
/** Metrics need not know each change at once. */
const messageMs = 1000;

class Report {
  #decode: number;
  #prefill: number;
  #changes = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  readonly #lines: readonly [Line, Line];

  constructor(private readonly parts: StepThreadsParts) {
    this.#decode = parts.decode;
    this.#prefill = parts.prefill;
    this.#lines = [new Line('Replies', parts.decode), new Line('Prompts', parts.prefill)];
  }

  update(decode: number, prefill: number, now: number): void {
    if (decode !== this.#decode) this.#changes += 1;
    if (prefill !== this.#prefill) this.#changes += 1;
    this.#decode = decode;
    this.#prefill = prefill;
    if (this.#changes > 0 && now - this.#sentAt >= messageMs) {
      this.parts.send({ type: 'threads', decode, prefill, changes: this.#changes });
      this.#changes = 0;
      this.#sentAt = now;
    }
    this.#note(this.#lines[0].update(decode, now));
    this.#note(this.#lines[1].update(prefill, now));
  }

  #note(text: string | undefined): void {
    if (text !== undefined) this.parts.send({ type: 'note', text });
  }
}

/** The console line about one of the numbers. */
class Line {
  #shown: number;
  #shownAt = Number.NEGATIVE_INFINITY;
  #latest: number;
  #changedAt = 0;

  constructor(
    private readonly what: string,
    private readonly most: number,
  ) {
    this.#shown = most;
    this.#latest = most;
  }

  update(threads: number, now: number): string | undefined {
    if (threads !== this.#latest) {
      this.#latest = threads;
      this.#changedAt = now;
    }
    if (threads === this.#shown || now - this.#changedAt < lastingMs || now - this.#shownAt < quietMs) return undefined;
    this.#shown = threads;
    this.#shownAt = now;
    return threads === this.most
      ? `${this.what} are computed with all ${this.most} threads again.`
      : `${this.what} are computed with ${threads} of ${this.most} threads, because other programs keep the processor busy.`;
  }
}

/** Undefined where the number of threads is fixed or does not matter. */
export function stepThreads(
  { options, info, threadpools }: Pick<Loaded, 'options' | 'info' | 'threadpools'>,
  send: (message: FromWorker) => void,
  now: () => number,
): StepThreads | undefined {
  const { threads: decode, batchThreads: prefill, fixedThreads } = options;
  const isOnGpu = info.gpuLayers > info.layers && options.tensorOverrides.length === 0;
  if (fixedThreads || isOnGpu || Math.max(decode, prefill) === 1) return undefined;
  return new StepThreads({ decode, prefill, send, now, use: threadpools.use });
}
