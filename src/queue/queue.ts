import { AppError } from '../core/errors.ts';
import type { QueuePosition } from '../core/request.ts';
import { ExpectedClients } from './expected-clients.ts';
import { type ForeseenWork, secondsLeft, secondsUntilFirstEnds, secondsUntilLast } from './forecast.ts';
import { isTakenIn, mayBegin, nextTurn, type Ring, seated, servingOrder, type Waiting } from './policy.ts';
import { textWork, type WorkKind } from './work.ts';

/** A place in the queue: `turn` resolves when the work may begin, and `leave` gives the place back at any time. */
export interface Place {
  readonly turn: Promise<void>;
  /** Its current position; undefined unless it waits. */
  standing(): QueuePosition | undefined;
  /** Lets waiting requests run first; resolves at its next turn. */
  again(): Promise<void>;
  /** Gives its turn up but not its place, while it is busy elsewhere; `again` asks for the next turn. */
  rest(): void;
  leave(): void;
}

export interface QueueOptions {
  /** How many requests may run at once in a lane, if they can share its engine. */
  readonly capacity: number | ((lane: string) => number);
  /** How many requests are accepted at once, including running ones. */
  readonly places: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** A request for admission. */
export interface Applicant {
  readonly client?: string;
  /** Which part of the client: parts take turns within the turns of their client. */
  readonly part?: string;
  readonly alone?: boolean;
  readonly kind?: WorkKind;
  /** Work of different lanes does not wait for each other: each has an engine of its own. */
  readonly lane?: string;
  /** Among the waiting entries of one client and lane that have a rank, lower ones go first. */
  readonly rank?: number | undefined;
}

interface Entry extends Waiting {
  readonly rank: number | undefined;
  readonly kind: WorkKind;
  readonly lane: string;
  begin: () => void;
  startedAt: number | undefined;
}

/**
 * Who works and who waits. What was taken in stays until it leaves by itself; a waiting request that leaves (its client went
 * away) frees its place for the next. Clients take turns, and whoever is sent away with nothing here finds a place kept
 * when it comes again; see `policy`.
 */
export class Queue {
  readonly #running = new Set<Entry>();
  readonly #waiting: Entry[] = [];
  readonly #resting = new Set<Entry>();
  /** The clients that wait for each lane. */
  readonly #rings = new Map<string, Ring>();
  readonly #expected = new ExpectedClients();
  /** A moving mean of how long each kind of work takes. */
  readonly #meanSeconds = new Map<string, number>();

  constructor(private readonly options: QueueOptions) {}

  get waiting(): number {
    return this.#waiting.length;
  }

  get running(): number {
    return this.#running.size;
  }

  /** Expected wait of a new request. */
  estimateSeconds(applicant: Applicant = {}): number {
    const newcomer = entryOf(applicant);
    return this.#standing(newcomer, [...this.#waiting, newcomer]).estimateSeconds;
  }

  /** Takes a place, or throws `busy` with the time after which one is free. */
  enter(applicant: Applicant = {}): Place {
    this.#refuseWithoutRoom(applicant.client ?? '');
    this.#expected.arrived(applicant.client ?? '');
    let begin: Entry['begin'] = () => {};
    let turn = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const entry = entryOf(applicant, begin);
    this.#waiting.splice(this.#placeOf(entry), 0, entry);
    this.#admit();
    return {
      get turn() {
        return turn;
      },
      standing: () => (this.#waiting.includes(entry) ? this.#standing(entry, this.#waiting) : undefined),
      again: () => {
        if (this.#resting.delete(entry)) turn = this.#again(entry);
        else if (this.#waitingIn(entry.lane).length > 0 && this.#running.delete(entry)) turn = this.#again(entry);
        return turn;
      },
      rest: () => this.#rest(entry),
      leave: () => this.#leave(entry),
    };
  }

  /** How many requests could begin now without delaying others. */
  room({ alone = false, lane = '' }: Applicant = {}): number {
    if (this.#waitingIn(lane).length > 0) return 0;
    const running = this.#runningIn(lane);
    if (!mayBegin({ alone }, running, this.#capacity(lane))) return 0;
    return alone ? 1 : this.#capacity(lane) - running.length;
  }

  /** At the end, unless an entry of the same client and lane has a higher rank. */
  #placeOf({ client, lane, rank }: Entry): number {
    if (rank === undefined) return this.#waiting.length;
    const place = this.#waiting.findIndex(
      (one) => one.client === client && one.lane === lane && one.rank !== undefined && one.rank > rank,
    );
    return place === -1 ? this.#waiting.length : place;
  }

  #again(entry: Entry): Promise<void> {
    this.#note(entry);
    entry.startedAt = undefined;
    const turn = new Promise<void>((resolve) => {
      entry.begin = resolve;
    });
    this.#waiting.push(entry);
    this.#admit();
    return turn;
  }

  #rest(entry: Entry): void {
    if (!this.#running.delete(entry)) return;
    this.#note(entry);
    entry.startedAt = undefined;
    this.#resting.add(entry);
    this.#admit();
  }

  #refuseWithoutRoom(client: string): void {
    const taken = [...this.#running, ...this.#waiting, ...this.#resting];
    const newcomer = {
      holds: taken.some((entry) => entry.client === client),
      expectedOthers: this.#expected.others(client, this.#now()),
    };
    if (isTakenIn(newcomer, this.options.places() - taken.length)) return;
    const seconds = secondsUntilFirstEnds([...this.#running].map((one) => this.#foreseen(one)));
    const retryAfterSeconds = Math.max(1, Math.round(seconds));
    if (!newcomer.holds) this.#expected.sentAway(client, retryAfterSeconds, this.#now());
    throw new AppError('busy', { retryAfterSeconds });
  }

  #standing(entry: Entry, waiting: readonly Entry[]): QueuePosition {
    const { lane } = entry;
    const order = servingOrder(
      this.#ring(lane),
      waiting.filter((one) => one.lane === lane),
    );
    const position = order.indexOf(entry) + 1;
    const running = this.#runningIn(lane).map((one) => this.#foreseen(one));
    const before = order.slice(0, position).map((one) => this.#foreseen(one));
    const seconds = secondsUntilLast(before, running, this.#capacity(lane));
    return { position, estimateSeconds: seconds === 0 ? 0 : Math.max(1, Math.round(seconds)) };
  }

  #foreseen({ alone, kind, startedAt }: Entry): ForeseenWork {
    const mean = this.#mean(kind);
    return { alone, seconds: startedAt === undefined ? mean : secondsLeft(mean, (this.#now() - startedAt) / 1000) };
  }

  #mean(kind: WorkKind): number {
    return this.#meanSeconds.get(kind.name) ?? Math.max(kind.firstGuessSeconds, ...this.#elapsed(kind));
  }

  /** Before the first has finished, those that run are all that is known: they show how long it takes at least. */
  #elapsed(kind: WorkKind): number[] {
    const running = [...this.#running].filter((entry) => entry.kind.name === kind.name);
    return running.map(({ startedAt = this.#now() }) => (this.#now() - startedAt) / 1000);
  }

  #admit(): void {
    for (const lane of new Set(this.#waiting.map((entry) => entry.lane))) this.#admitIn(lane);
  }

  #admitIn(lane: string): void {
    this.#seat(lane);
    for (;;) {
      const next = nextTurn(this.#ring(lane), this.#waitingIn(lane));
      if (!next || !mayBegin(next.entry, this.#runningIn(lane), this.#capacity(lane))) return;
      this.#waiting.splice(this.#waiting.indexOf(next.entry), 1);
      this.#running.add(next.entry);
      this.#rings.set(lane, next.ring);
      next.entry.startedAt = this.#now();
      next.entry.begin();
    }
  }

  #remove(entry: Entry): boolean {
    const place = this.#waiting.indexOf(entry);
    if (place === -1) return this.#running.delete(entry) || this.#resting.delete(entry);
    this.#waiting.splice(place, 1);
    this.#seat(entry.lane);
    return true;
  }

  /** Removes lanes without waiting requests. */
  #seat(lane: string): void {
    const ring = seated(this.#ring(lane), this.#waitingIn(lane));
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
    if (!this.#remove(entry)) return;
    this.#note(entry);
    this.#admit();
  }

  #note({ startedAt, kind }: Entry): void {
    if (startedAt === undefined) return;
    const seconds = (this.#now() - startedAt) / 1000;
    this.#meanSeconds.set(kind.name, 0.7 * this.#mean(kind) + 0.3 * seconds);
  }

  #now(): number {
    return this.options.now?.() ?? performance.now();
  }
}

function entryOf(
  { client = '', part = '', alone = false, kind = textWork, lane = '', rank }: Applicant,
  begin: Entry['begin'] = () => {},
): Entry {
  return { client, part, alone, kind, lane, rank, cost: kind.cost, begin, startedAt: undefined };
}
