import type { AbortCause } from '../core/abort.ts';
import type { FinishReason, TokenLogprob } from '../core/events.ts';
import { maySee } from '../core/owner.ts';
import type { QueuePosition } from '../core/request.ts';

export type JobState = 'waiting' | 'running' | 'done';

/** One request, from its admission until it is forgotten: its output so far, and how to abort it. */
export interface Job {
  readonly genkey: string;
  /** The client that sent it. */
  readonly client: string;
  /** Sequence number since the start, for the log. */
  readonly number: number;
  /** The name of its kind of work. */
  readonly kind: string;
  /** Of the HTTP request that it belongs to. */
  readonly requestId?: string | undefined;
  /** Whether it may run together with others. */
  readonly shared: boolean;
  /** Of the server itself: no client polls or aborts it, and it is not logged. */
  readonly isBackground?: boolean;
  state: JobState;
  text: string;
  /** Whether a poll by its key reports the finish reason. */
  readonly kept?: boolean;
  /** Why its last text ended. */
  finish?: FinishReason | 'error';
  readonly logprobs: TokenLogprob[];
  /** Undefined unless it waits in the queue. */
  position(): QueuePosition | undefined;
  abort(by: AbortCause): void;
}

/** Order in which requests with the same key are looked up: running ones first. */
const precedence: readonly JobState[] = ['running', 'waiting', 'done'];

/** Requests by key; also the last finished ones, because a client that lost its connection fetches its reply by key. */
export class Jobs {
  readonly #jobs: Job[] = [];

  /** `separateClients`: a password or keys are set, so an abort without a genkey prefers the client's own waiting request. */
  constructor(
    private readonly separateClients = false,
    private readonly remembered = 64,
  ) {}

  add(job: Job): void {
    this.#jobs.push(job);
    if (this.#jobs.length <= this.remembered) return;
    const oldest = this.#jobs.findIndex(({ state }) => state === 'done');
    if (oldest !== -1) this.#jobs.splice(oldest, 1);
  }

  /** The running requests of a key, else the waiting or the finished ones; clients use one key for a session. */
  withKey(genkey: string, client = ''): readonly Job[] {
    const own = this.#knownTo(client).filter((job) => job.genkey === genkey);
    const state = precedence.find((one) => own.some((job) => job.state === one));
    return own.filter((job) => job.state === state);
  }

  /** The target of an abort without a key: the running request; of several the client's own. None of others if several run. */
  running(client: string): Job | undefined {
    const active = this.#knownTo(client).filter(isActive);
    const own = active.filter((job) => job.client === client);
    const running = active.filter(hasTurn);
    const only = running.length === 1 ? running[0] : undefined;
    const ownRunning = newest(own.filter(hasTurn));
    return ownRunning ?? (this.separateClients ? (newest(own) ?? only) : (only ?? newest(own)));
  }

  /** Whether nothing of a client runs or waits. */
  get idle(): boolean {
    return this.active().every(({ isBackground }) => isBackground);
  }

  /** What a poll returns. Without a key, a request without one: the only active, the last, or the client's own. */
  visible(genkey: string, client: string): Job | undefined {
    if (genkey !== '') return this.withKey(genkey, client).at(-1);
    const known = this.#knownTo(client);
    const active = known.filter(isActive);
    const own = active.filter((job) => job.client === client && hasTurn(job));
    const job = active.length > 1 ? newest(own) : (active[0] ?? known.at(-1));
    return job?.genkey === '' ? job : undefined;
  }

  /** Those that run or wait. */
  active(): readonly Job[] {
    return this.#jobs.filter(isActive);
  }

  /** Stops and forgets the requests of a client. */
  forget(client: string): void {
    for (const job of this.#jobs.filter((each) => each.client === client)) {
      if (isActive(job)) job.abort('cancelled');
      this.#jobs.splice(this.#jobs.indexOf(job), 1);
    }
  }

  #knownTo(client: string): readonly Job[] {
    return this.#jobs.filter((job) => !job.isBackground && maySee(client, job));
  }
}

function isActive({ state }: Job): boolean {
  return state !== 'done';
}

/** A request that has its turn may still wait for the model. */
function hasTurn(job: Job): boolean {
  return job.state === 'running' || job.position() === undefined;
}

/** Text requests first, because clients poll and abort those. */
function newest(jobs: readonly Job[]): Job | undefined {
  return jobs.findLast(({ kind }) => kind === 'text') ?? jobs.at(-1);
}
