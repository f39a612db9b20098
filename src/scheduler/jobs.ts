import type { TokenLogprob } from '../core/events.ts';
import type { Standing } from '../core/request.ts';

export type JobState = 'waiting' | 'running' | 'done';

/** One request from its admission until it is forgotten: what it has written so far, and how to stop it. */
export interface Job {
  readonly genkey: string;
  state: JobState;
  text: string;
  readonly logprobs: TokenLogprob[];
  /** Undefined unless it waits in the queue. */
  standing(): Standing | undefined;
  abort(): void;
}

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

  /** The newest request with this key; without a key, the newest that has begun. */
  find(genkey: string): Job | undefined {
    return genkey === ''
      ? this.#jobs.findLast(({ state }) => state !== 'waiting')
      : this.#jobs.findLast((job) => job.genkey === genkey);
  }

  /** Somebody without a key may see or stop a request only where it cannot be somebody else's. */
  visible(genkey: string, waiting: number): Job | undefined {
    const job = this.find(genkey);
    return genkey !== '' || (waiting === 0 && job?.genkey === '') ? job : undefined;
  }
}
