import type { AbortCause } from '../core/abort-cause.ts';
import type { FinishReason, TokenLogprob } from '../core/events.ts';
import type { QueuePosition } from '../core/request.ts';
import type { WorkKind } from './work.ts';

export type JobState = 'waiting' | 'running' | 'done';

/** One request from its admission until it is forgotten: what it has written so far, and how to stop it. */
export interface Job {
  readonly genkey: string;
  /** Its place among all requests since the start, by which people tell them apart. */
  readonly number: number;
  readonly kind: WorkKind;
  /** Whether it may run together with others. */
  readonly shared: boolean;
  state: JobState;
  text: string;
  /** Whether those who ask by its key want to know how it ended. */
  readonly kept?: boolean;
  /** Why its last text ended. */
  finish?: FinishReason | 'error';
  readonly logprobs: TokenLogprob[];
  /** Undefined unless it waits in the queue. */
  standing(): QueuePosition | undefined;
  abort(by: AbortCause): void;
}

/** Who is meant first where several have the same key: people want what happens now. */
const precedence: readonly JobState[] = ['running', 'waiting', 'done'];

/**
 * Which request belongs to which key. Finished ones are remembered for a while, because a client that lost its
 * connection fetches its reply by key; the number is bounded, and the oldest go first.
 */
export class Jobs {
  readonly #jobs: Job[] = [];

  constructor(private readonly remembered = 64) {}

  add(job: Job): void {
    this.#jobs.push(job);
    if (this.#jobs.length <= this.remembered) return;
    const oldest = this.#jobs.findIndex(({ state }) => state === 'done');
    if (oldest !== -1) this.#jobs.splice(oldest, 1);
  }

  /**
   * The requests that a key means, the oldest first: those that run, else those that wait, else those that are done.
   * Clients use one key for a whole session, so it may well be several. Without a key it is the only one at work, or
   * the last one that was: where several run or somebody waits, it might be somebody else's.
   */
  meant(genkey: string, waiting: number): readonly Job[] {
    if (genkey === '') return this.#only(waiting);
    const own = this.#jobs.filter((job) => job.genkey === genkey);
    const state = precedence.find((one) => own.some((job) => job.state === one));
    return own.filter((job) => job.state === state);
  }

  /** Whose text may be shown. Without a key only that of a request that has none either. */
  visible(genkey: string, waiting: number): Job | undefined {
    const job = this.meant(genkey, waiting).at(-1);
    return job?.genkey === genkey ? job : undefined;
  }

  /** Whether a request without a key cannot be told from others. */
  ambiguous(waiting: number): boolean {
    return waiting > 0 || this.#atWork().length > 1;
  }

  #only(waiting: number): readonly Job[] {
    if (this.ambiguous(waiting)) return [];
    const only = this.#atWork()[0] ?? this.#jobs.at(-1);
    return only ? [only] : [];
  }

  /** One that has its turn may still wait for the model. */
  #atWork(): readonly Job[] {
    return this.#jobs.filter(({ state }) => state !== 'done');
  }
}
