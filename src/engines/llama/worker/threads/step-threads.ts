import type { FromWorker } from '../../messages.ts';
import type { Loaded } from '../load/model.ts';
import type { Context, DecodeResult } from '../memory/context.ts';
import { threads as policy } from '../scheduling.ts';
import { type ContentionWatch, contentionWatch } from './contention.ts';
import { ThreadCount } from './thread-count.ts';

interface StepThreadsOptions {
  /** The maximum number of threads, for replies and for prompts. */
  readonly decode: number;
  readonly prefill: number;
  /** Sets the number for the next step. */
  readonly use: (threads: number) => void;
  /** Missing where the system does not report whether threads wait for a core. */
  readonly contention?: Pick<ContentionWatch, 'start'> | undefined;
  readonly send: (message: FromWorker) => void;
  readonly now: () => number;
}

/** Chooses the number of threads of each step, separately for replies and prompts, and reports changes. */
export class StepThreads {
  readonly #decode: ThreadCount;
  readonly #prefill: ThreadCount;
  readonly #reports: Report;
  /** That of the running step. */
  #count: ThreadCount;
  #used = 0;
  #startedAt = 0;
  #endedAt = Number.NEGATIVE_INFINITY;
  #needsWatch = false;
  /** How many threads of the step had to wait, if it was aborted for that reason. */
  #waiting = 0;

  constructor(private readonly options: StepThreadsOptions) {
    const watched = options.contention !== undefined;
    this.#decode = new ThreadCount(options.decode, { watched });
    this.#prefill = new ThreadCount(options.prefill, { growing: true, watched });
    this.#count = this.#decode;
    this.#reports = new Report(options);
  }

  /** Right before a step. */
  before(isPrefill: boolean, width: number): void {
    const now = this.options.now();
    this.#count = isPrefill ? this.#prefill : this.#decode;
    this.#count.follow(isPrefill ? this.#decode : this.#prefill, now);
    const threads = this.#count.next(width, now);
    if (threads !== this.#used) this.options.use(threads);
    this.#used = threads;
    this.#needsWatch = now - this.#endedAt > policy.pauseMs || this.#count.needsWatch;
    this.#startedAt = this.options.now();
  }

  /** Whether the step should be computed by `watch`, however small it is: it is not known whether each of its threads has a core. */
  get needsWatch(): boolean {
    return this.#needsWatch && this.options.contention !== undefined && this.#used > 1;
  }

  /** Computes the step on another thread, and aborts it if other programs occupy the cores of its threads: fewer will be faster. */
  async watch(context: Pick<Context, 'decode' | 'abortDecode'>): Promise<DecodeResult> {
    const { contention } = this.options;
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

  /** Right after it. The time of a step that was aborted for another reason is not used. */
  after(result: DecodeResult): void {
    const now = this.options.now();
    const milliseconds = now - this.#startedAt;
    const waiting = this.#waiting;
    this.#waiting = 0;
    this.#endedAt = now;
    if (result === 'ok') this.#count.completed(milliseconds, now);
    else if (result === 'aborted' && waiting > 0) this.#count.contended(this.#used - waiting, milliseconds, now);
    else return;
    this.#reports.update(this.#decode.current, this.#prefill.current, now);
  }
}

/** A change is logged once it has lasted this long, so that trials and short loads are not. */
const minLastingMs = 5000;
/** The shortest time between two log lines about the same number. */
const minLogIntervalMs = 60_000;
/** The shortest time between two messages to the server, whose metrics need no higher resolution. */
const minMessageIntervalMs = 1000;

/** One of the two numbers, as it is and as it was last logged. */
const reported = (subject: string, max: number) => ({
  subject,
  max,
  current: max,
  changedAt: 0,
  logged: max,
  loggedAt: Number.NEGATIVE_INFINITY,
});

class Report {
  #changes = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  readonly #replies;
  readonly #prompts;

  constructor(private readonly options: StepThreadsOptions) {
    this.#replies = reported('Replies', options.decode);
    this.#prompts = reported('Prompts', options.prefill);
  }

  update(decode: number, prefill: number, now: number): void {
    this.#log(this.#replies, decode, now);
    this.#log(this.#prompts, prefill, now);
    if (this.#changes === 0 || now - this.#sentAt < minMessageIntervalMs) return;
    this.options.send({ type: 'threads', decode, prefill, changes: this.#changes });
    this.#changes = 0;
    this.#sentAt = now;
  }

  #log(number: ReturnType<typeof reported>, threads: number, now: number): void {
    if (threads !== number.current) {
      this.#changes += 1;
      Object.assign(number, { current: threads, changedAt: now });
    }
    const { subject, max, logged, loggedAt, changedAt } = number;
    if (threads === logged || now - changedAt < minLastingMs || now - loggedAt < minLogIntervalMs) return;
    Object.assign(number, { logged: threads, loggedAt: now });
    const text =
      threads === max
        ? `${subject} are computed with all ${max} threads again.`
        : `${subject} are computed with ${threads} of ${max} threads, because other programs keep the processor busy.`;
    this.options.send({ type: 'note', text });
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
  // With layers on a GPU, how long threads wait depends on its driver.
  const contention = info.gpuLayers === 0 ? contentionWatch(now) : undefined;
  return new StepThreads({ decode, prefill, send, now, use: threadpools.use, contention });
}
