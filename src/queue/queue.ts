import { AppError } from '../core/errors.ts';
import type { QueuePosition } from '../core/request.ts';
import type { StartTimer } from '../core/timers.ts';
import { BackgroundShare } from './background-share.ts';
import {
  ExpectedClients,
  type ExpectedWork,
  interrupts,
  isAdmitted,
  mayBegin,
  nextTurn,
  type Ring,
  secondsLeft,
  secondsUntilFirstEnds,
  secondsUntilLast,
  servingOrder,
  updateRing,
  type Waiting,
} from './policy.ts';

/**
 * A request in the queue: `turn` resolves when the work may begin, or rejects when the queue is closed before; `leave` frees its slot
 * at any time.
 */
export interface Admission {
  readonly turn: Promise<void>;
  /** Its current position; undefined unless it waits. */
  position(): QueuePosition | undefined;
  /**
   * Tells how long its work takes, or what is left of it. With `interrupt` it can be stopped for work of so many seconds, to `resume`
   * in its next turn.
   */
  expect(seconds: number | undefined, interrupt?: (seconds: number) => void): void;
  /** After an interruption: waits for the rest of its turn. */
  resume(): Promise<void>;
  /** Lets waiting requests run first; resolves at its next turn. */
  again(): Promise<void>;
  /** Gives up its turn but not its slot, while it waits for something else; `again` requests the next turn. */
  rest(): void;
  /** Whether its turn is part of the share of time that background work gets while other work runs. */
  isShare(): boolean;
  leave(): void;
}

interface QueueOptions {
  /** How many requests may run at once in a lane, if they can share its engine. */
  readonly capacity: number | ((lane: string) => number);
  /** How many requests are accepted at once, including running ones. */
  readonly maxRequests: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
  /** With it, background work goes on slowly where other work never ends; without it, it waits. */
  readonly startTimer?: StartTimer;
}

/** A request for admission. */
export interface QueueRequest {
  readonly client?: string;
  /** Part of the client; parts share its turns. */
  readonly part?: string;
  readonly alone?: boolean;
  readonly kind?: WorkKind;
  /** Work of different lanes does not wait for each other: each has its own engine. */
  readonly lane?: string;
  /** Among the waiting entries of one client and lane that have a rank, lower ones go first. */
  readonly rank?: number | undefined;
  /** Of weight 2, a client gets twice the turns of others. */
  readonly weight?: number | undefined;
  /** Not refused if the queue is full. */
  readonly admitted?: boolean | undefined;
  /**
   * Work of the lowest weight: begins while no other work of any lane runs or waits, and takes no place of those. Called when other work
   * comes while this one runs: it should then stop soon, and enter again or `resume` for the rest. Where other work never ends, kinds that
   * can do something in so short a time get a share (see `BackgroundShare`).
   */
  readonly giveWay?: (() => void) | undefined;
}

interface Entry extends Waiting {
  readonly rank: number | undefined;
  readonly kind: WorkKind;
  readonly lane: string;
  readonly giveWay: (() => void) | undefined;
  begin: () => void;
  refuse: (error: AppError) => void;
  /** It has had a turn. */
  begun: boolean;
  startedAt: number | undefined;
  arrivedAt: number;
  expectedSeconds: number | undefined;
  interrupt: ((seconds: number) => void) | undefined;
  resumes: boolean;
  readonly passedBy: Set<string>;
  /** Milliseconds that it ran before it was interrupted. */
  ranFor: number;
  /** Its turn is one of the share of background work. */
  isShare: boolean;
}

/**
 * Running and waiting requests. An admitted request stays until it leaves; one that leaves while it waits frees its place. Clients take
 * turns, and a client that was refused while it had no request here finds a place when it retries; see `policy.ts`.
 */
export class Queue {
  readonly #running = new Set<Entry>();
  readonly #waiting: Entry[] = [];
  readonly #paused = new Set<Entry>();
  /** The clients that wait for each lane. */
  readonly #rings = new Map<string, Ring>();
  readonly #expected = new ExpectedClients();
  /** A moving mean of how long each kind of work takes. */
  readonly #meanSeconds = new Map<string, number>();
  #closed = false;
  readonly #share: BackgroundShare | undefined;

  constructor(private readonly options: QueueOptions) {
    const { startTimer } = options;
    if (startTimer) this.#share = new BackgroundShare({ startTimer, due: () => this.#admit() });
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** No new requests are accepted. */
  get isClosed(): boolean {
    return this.#closed;
  }

  get running(): number {
    return this.#running.size;
  }

  /** Expected wait of a new request. */
  estimateSeconds(request: QueueRequest = {}): number {
    const newcomer = entryOf(request);
    return this.#position(newcomer, [...this.#waiting, newcomer]).estimateSeconds;
  }

  /** Takes a place, or throws `busy` with the time after which one is free. */
  enter(request: QueueRequest = {}): Admission {
    if (this.#closed) throw new AppError('stopping', {});
    if (!request.admitted && !request.giveWay) this.#refuseWhenFull(request.client ?? '');
    this.#expected.arrived(request.client ?? '');
    const entry = { ...entryOf(request), arrivedAt: this.#now() / 1000 };
    let turn = this.#wait(entry, this.#insertionIndex(entry));
    return {
      get turn() {
        return turn;
      },
      position: () => (this.#waiting.includes(entry) ? this.#position(entry, this.#waiting) : undefined),
      again: () => {
        const yields = () => this.#waitingIn(entry.lane).length > 0 && this.#running.delete(entry);
        if (!this.#paused.delete(entry) && !yields()) return turn;
        this.#measure(entry);
        entry.arrivedAt = this.#now() / 1000;
        entry.passedBy.clear();
        turn = this.#wait(entry, this.#waiting.length);
        return turn;
      },
      expect: (seconds, interrupt) => {
        Object.assign(entry, { expectedSeconds: seconds, interrupt });
        this.#admit();
      },
      resume: () => {
        if (!this.#running.delete(entry)) return turn;
        this.#ended(entry);
        entry.ranFor = this.#now() - (entry.startedAt ?? this.#now());
        Object.assign(entry, { resumes: true, startedAt: undefined });
        turn = this.#wait(entry, this.#waiting.length);
        return turn;
      },
      rest: () => this.#rest(entry),
      isShare: () => entry.isShare,
      leave: () => this.#leave(entry),
    };
  }

  /** How many requests could begin now without delaying others. */
  room({ alone = false, lane = '' }: QueueRequest = {}): number {
    if (this.#waitingIn(lane).some(({ giveWay }) => !giveWay)) return 0;
    const running = this.#runningIn(lane);
    if (!mayBegin({ alone }, running, this.#capacity(lane))) return 0;
    return alone ? 1 : this.#capacity(lane) - running.length;
  }

  /** Refuses new requests and those that wait for their first turn. Those that have begun continue, with further turns if they need them. */
  close(): void {
    this.#closed = true;
    const refused = this.#waiting.filter(({ begun }) => !begun);
    const begun = [...this.#running, ...this.#waiting].filter((entry) => entry.begun);
    for (const { giveWay } of begun) giveWay?.();
    this.#share?.close();
    // All leave before any is rejected: none may begin in between.
    for (const entry of refused) this.#waiting.splice(this.#waiting.indexOf(entry), 1);
    for (const entry of refused) entry.refuse(new AppError('stopping', {}));
    this.#admit();
  }

  /** At the end, unless an entry of the same client and lane has a higher rank. */
  #insertionIndex({ client, lane, rank }: Entry): number {
    if (rank === undefined) return this.#waiting.length;
    const index = this.#waiting.findIndex(
      (one) => one.client === client && one.lane === lane && one.rank !== undefined && one.rank > rank,
    );
    return index === -1 ? this.#waiting.length : index;
  }

  #wait(entry: Entry, index: number): Promise<void> {
    const turn = new Promise<void>((resolve, reject) => {
      entry.begin = resolve;
      entry.refuse = reject;
    });
    // The promise of a place may have no handler.
    turn.catch(() => undefined);
    this.#waiting.splice(index, 0, entry);
    this.#admit();
    if (!entry.giveWay) this.#stopBackground();
    else if (entry.kind.hasShare && this.#waiting.includes(entry)) this.#share?.waits(entry.lane);
    return turn;
  }

  /** What has a share of the time stops at its end. */
  #stopBackground(): void {
    for (const { giveWay, isShare } of [...this.#running]) if (!isShare) giveWay?.();
  }

  /** Background work has left its turn. */
  #ended(entry: Entry): void {
    if (!entry.giveWay) return;
    entry.isShare = false;
    this.#share?.ended(
      entry.lane,
      this.#waitingIn(entry.lane).some(({ giveWay }) => !giveWay),
    );
  }

  /** Its share begins; at the end of it, it gives way like other background work. */
  #beginShare(entry: Entry): void {
    entry.isShare = true;
    this.#share?.began(entry.lane, () => {
      if (!entry.isShare || !this.#running.has(entry)) return;
      entry.isShare = false;
      if (!this.#quiet) entry.giveWay?.();
    });
  }

  #rest(entry: Entry): void {
    if (!this.#running.delete(entry)) return;
    this.#ended(entry);
    this.#measure(entry);
    this.#paused.add(entry);
    this.#admit();
  }

  #refuseWhenFull(client: string): void {
    const taken = [...this.#running, ...this.#waiting, ...this.#paused].filter(({ giveWay }) => !giveWay);
    const newcomer = {
      hasRequests: taken.some((entry) => entry.client === client),
      expectedClients: this.#expected.others(client, this.#now()),
    };
    if (isAdmitted(newcomer, this.options.maxRequests() - taken.length)) return;
    const seconds = secondsUntilFirstEnds([...this.#running].map((one) => this.#expectedWork(one)));
    const retryAfterSeconds = Math.max(1, Math.round(seconds));
    if (!newcomer.hasRequests) this.#expected.refused(client, retryAfterSeconds, this.#now());
    throw new AppError('busy', { retryAfterSeconds });
  }

  #position(entry: Entry, waiting: readonly Entry[]): QueuePosition {
    const { lane } = entry;
    const order = servingOrder(
      this.#ring(lane),
      waiting.filter((one) => one.lane === lane),
    );
    const position = order.indexOf(entry) + 1;
    const running = this.#runningIn(lane).map((one) => this.#expectedWork(one));
    const before = order.slice(0, position).map((one) => this.#expectedWork(one));
    const seconds = secondsUntilLast(before, running, this.#capacity(lane));
    return { position, estimateSeconds: seconds === 0 ? 0 : Math.max(1, Math.round(seconds)) };
  }

  #expectedWork({ alone, kind, startedAt, expectedSeconds }: Entry): ExpectedWork {
    const mean = this.#mean(kind);
    if (startedAt === undefined) return { alone, seconds: expectedSeconds ?? mean };
    return { alone, seconds: secondsLeft(mean, (this.#now() - startedAt) / 1000) };
  }

  /** Until the first has finished, the elapsed time of running work is a lower bound. */
  #mean({ name, initialEstimateSeconds }: WorkKind): number {
    const known = this.#meanSeconds.get(name);
    if (known !== undefined) return known;
    const running = [...this.#running].filter((entry) => entry.kind.name === name);
    const elapsed = running.map(({ startedAt = this.#now() }) => (this.#now() - startedAt) / 1000);
    return Math.max(initialEstimateSeconds, ...elapsed);
  }

  #admit(): void {
    for (const lane of new Set(this.#waiting.map((entry) => entry.lane))) this.#admitIn(lane);
  }

  /** Whether there is only background work. */
  get #quiet(): boolean {
    return [...this.#running, ...this.#waiting].every(({ giveWay }) => giveWay);
  }

  #admitIn(lane: string): void {
    this.#updateRing(lane);
    for (;;) {
      const waiting = this.#waitingIn(lane);
      const urgent = waiting.filter(({ giveWay }) => !giveWay);
      const running = this.#runningIn(lane);
      const share = this.#nextShare(lane, waiting, running);
      const next = share ?? nextTurn(this.#ring(lane), urgent.length > 0 || !this.#quiet ? urgent : waiting);
      if (!next) return;
      if (!mayBegin(next.entry, running, this.#capacity(lane))) {
        this.#interrupt(running, next.entry);
        return;
      }
      this.#waiting.splice(this.#waiting.indexOf(next.entry), 1);
      for (const { resumes, passedBy } of this.#waitingIn(lane)) if (resumes) passedBy.add(next.entry.client);
      this.#running.add(next.entry);
      // A share is no turn of the ring.
      if (!share) this.#rings.set(lane, next.ring);
      const { ranFor } = next.entry;
      Object.assign(next.entry, { startedAt: this.#now() - ranFor, ranFor: 0, begun: true, resumes: false });
      if (share) this.#beginShare(next.entry);
      next.entry.begin();
    }
  }

  /** Background work whose share is due, where it can begin now: nothing waits until it can. */
  #nextShare(lane: string, waiting: readonly Entry[], running: readonly Entry[]) {
    if (!this.#share?.isDue(lane) || this.#quiet) return undefined;
    const background = waiting.filter(({ giveWay, kind }) => giveWay && kind.hasShare);
    const next = nextTurn(this.#ring(lane), background);
    return next && mayBegin(next.entry, running, this.#capacity(lane)) ? next : undefined;
  }

  /** One request at a time is interrupted, and is asked once until it reports again. */
  #interrupt([running, ...others]: readonly Entry[], next: Entry): void {
    if (!running?.interrupt || others.length > 0 || !interrupts(next, running)) return;
    if (this.#waitingIn(next.lane).some(({ resumes, giveWay }) => resumes && !giveWay)) return;
    const { interrupt } = running;
    running.interrupt = undefined;
    interrupt(next.expectedSeconds ?? 0);
  }

  /** Removes lanes without waiting requests. */
  #updateRing(lane: string): void {
    const ring = updateRing(this.#ring(lane), this.#waitingIn(lane));
    if (ring.length === 0) this.#rings.delete(lane);
    else this.#rings.set(lane, ring);
  }

  #ring(lane: string): Ring {
    return this.#rings.get(lane) ?? [];
  }

  #waitingIn(lane: string): readonly Entry[] {
    return this.#waiting.filter((entry) => entry.lane === lane);
  }

  #runningIn(lane: string): readonly Entry[] {
    return [...this.#running].filter((entry) => entry.lane === lane);
  }

  #capacity(lane: string): number {
    const { capacity } = this.options;
    return typeof capacity === 'number' ? capacity : capacity(lane);
  }

  #leave(entry: Entry): void {
    const index = this.#waiting.indexOf(entry);
    if (index !== -1) {
      this.#waiting.splice(index, 1);
      this.#updateRing(entry.lane);
    } else if (!this.#running.delete(entry) && !this.#paused.delete(entry)) return;
    else this.#ended(entry);
    this.#measure(entry);
    this.#admit();
  }

  /** Its run has ended: updates the mean duration of its kind. */
  #measure(entry: Entry): void {
    const { startedAt, kind } = entry;
    if (startedAt === undefined) return;
    const seconds = (this.#now() - startedAt) / 1000;
    this.#meanSeconds.set(kind.name, 0.7 * this.#mean(kind) + 0.3 * seconds);
    Object.assign(entry, { startedAt: undefined, expectedSeconds: undefined, interrupt: undefined });
  }

  #now(): number {
    return this.options.now?.() ?? performance.now();
  }
}

function entryOf(request: QueueRequest): Entry {
  const { client = '', part = '', alone = false, kind = textWork, lane = '', rank, weight = 1, giveWay } = request;
  const times = { startedAt: undefined, arrivedAt: 0, expectedSeconds: undefined, ranFor: 0, isShare: false };
  const turn = {
    begin: () => {},
    refuse: () => {},
    begun: false,
    interrupt: undefined,
    resumes: false,
    passedBy: new Set<string>(),
  };
  return { client, part, alone, kind, lane, rank, giveWay, cost: kind.cost / weight, ...times, ...turn };
}

interface QueueSettings {
  /** `--multiuser`: how many requests are accepted at once, including the running one. */
  readonly multiuser: number;
  readonly parallelRequests: number;
  /** A speech-to-text, image, text-to-speech or embeddings model is loaded as well. */
  readonly hasTaskModels: () => boolean;
}

/** How many requests are accepted at once, including running ones. */
export function maxQueuedRequests({ multiuser, parallelRequests, hasTaskModels }: QueueSettings): number {
  if (multiuser > 1) return multiuser;
  if (multiuser === 1) return 10;
  if (hasTaskModels()) return 2;
  return parallelRequests > 1 ? 10 : 1;
}

/** A kind of work in the queue. */
export interface WorkKind {
  readonly name: string;
  /** How much of its client's turn it takes; a text is 1. */
  readonly cost: number;
  /** The expected duration until the first measurement. */
  readonly initialEstimateSeconds: number;
  /** How many run at once on one engine; 1 by default. */
  readonly concurrency?: number;
  /** In the background it has a share of the time, because something of it is done and kept in that time. */
  readonly hasShare?: boolean;
}

export const textWork: WorkKind = { name: 'text', cost: 1, initialEstimateSeconds: 5, hasShare: true };
/** Saving or loading a state. Its cost is not 0, or a series of them would starve other clients. */
export const stateWork: WorkKind = { name: 'state', cost: 0.25, initialEstimateSeconds: 0.5 };
