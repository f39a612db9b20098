import type { FromWorker } from '../../messages.ts';
import type { Loaded } from '../load/model.ts';
import type { Context, DecodeResult } from '../memory/context.ts';
import { type ContentionWatch, contentionWatch } from './contention.ts';
import { pauseMs, ThreadCount } from './thread-count.ts';

interface StepThreadsParts {
  /** The most threads, for replies and for prompts. */
  readonly decode: number;
  readonly prefill: number;
  /** Sets the number for the next step. */
  readonly use: (threads: number) => void;
  /** Missing where the system does not tell whether threads wait for a core. */
  readonly contention?: Pick<ContentionWatch, 'start'> | undefined;
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
  #endedAt = Number.NEGATIVE_INFINITY;
  #isUnsure = false;
  /** How many threads of the step had to wait, if that is why it was given up. */
  #waiting = 0;

  constructor(private readonly parts: StepThreadsParts) {
    const watched = parts.contention !== undefined;
    this.#decode = new ThreadCount(parts.decode, { watched });
    this.#prefill = new ThreadCount(parts.prefill, { growing: true, watched });
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
    this.#isUnsure = now - this.#endedAt > pauseMs || this.#count.isDoubtful;
    this.#startedAt = this.parts.now();
  }

  /** Whether the step should be computed by `watch`, however small it is: nobody knows if its threads will have a core each. */
  get isUnsure(): boolean {
    return this.#isUnsure && this.parts.contention !== undefined && this.#used > 1;
  }

  /** Computes the step on another thread, and gives it up if other programs run in place of its threads: fewer will be faster. */
  async watch(context: Pick<Context, 'decode' | 'abortDecode'>): Promise<DecodeResult> {
    const { contention } = this.parts;
    if (!contention || this.#used === 1) return context.decode();
    const running = context.decode();
    const stop = contention.start((waiting) => {
      this.#waiting = waiting;
      context.abortDecode();
    });
    try {
      return await running;
    } finally {
      stop();
    }
  }

  /** Right after it. A step that was aborted by somebody says nothing about its time. */
  after(result: DecodeResult): void {
    const now = this.parts.now();
    const milliseconds = now - this.#startedAt;
    const waiting = this.#waiting;
    this.#waiting = 0;
    this.#endedAt = now;
    if (result === 'ok') this.#count.took(milliseconds, now);
    else if (result === 'aborted' && waiting > 0) this.#count.contended(this.#used - waiting, milliseconds, now);
    else return;
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
  // With layers on a card, its driver decides who waits.
  const contention = info.gpuLayers === 0 ? contentionWatch(now) : undefined;
  return new StepThreads({ decode, prefill, send, now, use: threadpools.use, contention });
}
