/** When a request came, and how long it is expected to take, as far as that is known; both in seconds. */
export interface Expected {
  readonly arrivedAt?: number;
  readonly expectedSeconds?: number | undefined;
}

/** However long a request is expected to take, one that comes this much later does not overtake it. */
export const maxOvertakingSeconds = 60;

/**
 * Whether a request goes before an earlier one: by the time at which each would end if it had begun when it came. So a request is
 * overtaken by shorter ones only, and only by those that come while it could have run by itself.
 */
export function overtakes(later: Expected, earlier: Expected): boolean {
  if (later.expectedSeconds === undefined || earlier.expectedSeconds === undefined) return false;
  const due = ({ arrivedAt = 0, expectedSeconds = 0 }: Expected) =>
    arrivedAt + Math.min(expectedSeconds, maxOvertakingSeconds);
  return due(later) < due(earlier);
}

/**
 * Whether a request that has its turn stops for another one: only for work of at most half of what it has left, because saving and
 * restoring its state takes time, too, and only for one request of each other client.
 */
export function interrupts(next: Waiting, running: Waiting, passedBy = running.passedBy): boolean {
  if (next.client !== running.client && passedBy?.has(next.client)) return false;
  return overtakes(next, running) && 2 * (next.expectedSeconds ?? 0) <= (running.expectedSeconds ?? 0);
}

/** The first of the requests of one part, which are in the order of arrival. None overtakes a request of unknown duration. */
function firstOf<Entry extends Waiting>(arrivals: readonly Entry[]): Entry | undefined {
  const order: Entry[] = [];
  for (const entry of arrivals) {
    let index = order.length;
    while (index > 0 && overtakes(entry, order[index - 1] as Entry)) index -= 1;
    order.splice(index, 0, entry);
  }
  return order[0];
}

/**
 * Round robin over clients, as pure functions. Waiting clients take turns, and so do the parts of one client (the genkeys of one
 * address); within a part the oldest request goes first, unless a shorter one overtakes it. A new client joins at the end of the ring,
 * so a waiting client is served after at most one turn of each client that waited before it, however many requests others send.
 */
export interface Waiting extends Expected {
  readonly client: string;
  /** Which part of the client: parts share its turns and take turns in them. */
  readonly part?: string;
  /** Needs the engine for itself. */
  readonly alone: boolean;
  /** Share of a turn. Below 1 the client keeps its turn; above 1 it misses later turns. */
  readonly cost: number;
  /** It was interrupted in its turn, and continues before others begin, unless one interrupts it again. */
  readonly resumes?: boolean;
  /** The clients whose requests ran meanwhile. */
  readonly passedBy?: ReadonlySet<string>;
}

interface RingEntry {
  readonly client: string;
  /** Used share of its turn; from 1 on it misses turns. */
  readonly used: number;
  /** The parts of the client that wait. */
  readonly parts: Ring;
}

/** The waiting clients, the next one first. */
export type Ring = readonly RingEntry[];

/** The key that requests are grouped by, and the grouping within a group. */
interface Level {
  readonly nameOf: (one: Waiting) => string;
  readonly within?: Level;
}

const byClient: Level = { nameOf: ({ client }) => client, within: { nameOf: ({ part = '' }) => part } };

/** Removes clients that do not wait any more, and appends new ones. */
export function updateRing(ring: Ring, waiting: readonly Waiting[], { nameOf, within }: Level = byClient): Ring {
  const names = new Set(waiting.map(nameOf));
  const staying = ring.filter(({ client }) => names.delete(client));
  const entries = [...staying, ...[...names].map((client) => ({ client, used: 0, parts: [] }))];
  if (!within) return entries;
  return entries.map((first) => {
    const own = waiting.filter((one) => nameOf(one) === first.client);
    return { ...first, parts: updateRing(first.parts, own, within) };
  });
}

interface Turn<Entry extends Waiting> {
  readonly entry: Entry;
  /** The ring after this turn. */
  readonly ring: Ring;
}

/** The next request. `waiting` is in the order of arrival. */
export function nextTurn<Entry extends Waiting>(
  ring: Ring,
  waiting: readonly Entry[],
  passedBy?: ReadonlySet<string>,
): Turn<Entry> | undefined {
  const interrupted = waiting.find(({ resumes }) => resumes);
  if (!interrupted) return nextInRing(ring, waiting, byClient);
  const others = waiting.filter((one) => one !== interrupted);
  const next = nextInRing(ring, others, byClient);
  // Its client has paid for this turn.
  return next && interrupts(next.entry, interrupted, passedBy)
    ? next
    : { entry: interrupted, ring: updateRing(ring, others) };
}

function nextInRing<Entry extends Waiting>(
  ring: Ring,
  waiting: readonly Entry[],
  level: Level,
): Turn<Entry> | undefined {
  let entries = updateRing(ring, waiting, level);
  for (;;) {
    const [first, ...others] = entries;
    if (!first) return undefined;
    if (first.used >= 1) {
      entries = [...others, { ...first, used: first.used - 1 }];
      continue;
    }
    const own = waiting.filter((one) => level.nameOf(one) === first.client);
    const entry = firstOf(own);
    const next = level.within ? nextInRing(first.parts, own, level.within) : entry && { entry, ring: [] };
    if (!next) return undefined;
    const used = first.used + next.entry.cost;
    const after = { ...first, parts: next.ring };
    entries = used >= 1 ? [...others, { ...after, used: used - 1 }] : [{ ...after, used }, ...others];
    const left = waiting.filter((one) => one !== next.entry);
    return { entry: next.entry, ring: updateRing(entries, left, level) };
  }
}

/** The next request waits for its own conditions and blocks the others, or a request that must run alone could wait forever. */
export function mayBegin(next: Pick<Waiting, 'alone'>, running: readonly Pick<Waiting, 'alone'>[], capacity: number) {
  if (running.some(({ alone }) => alone)) return false;
  return next.alone ? running.length === 0 : running.length < capacity;
}

/** The order in which the waiting requests would run if no other arrived. */
export function servingOrder<Entry extends Waiting>(ring: Ring, waiting: readonly Entry[]): Entry[] {
  const order: Entry[] = [];
  const passedBy = new Set(waiting.find(({ resumes }) => resumes)?.passedBy);
  let left = waiting;
  for (let turn = nextTurn(ring, left, passedBy); turn; turn = nextTurn(turn.ring, left, passedBy)) {
    const { entry } = turn;
    order.push(entry);
    passedBy.add(entry.client);
    left = left.filter((one) => one !== entry);
  }
  return order;
}

/** A client with requests leaves one free place for each refused client that is expected to retry. */
export function isAdmitted(
  { hasRequests, expectedClients }: { readonly hasRequests: boolean; readonly expectedClients: number },
  free: number,
): boolean {
  return free > (hasRequests ? expectedClients : 0);
}

/** A job with its expected duration, or the remaining one if it runs. */
export interface ExpectedWork {
  readonly alone: boolean;
  readonly seconds: number;
}

/** When the last of these begins, if they run in this order and take as long as expected. */
export function secondsUntilLast(order: readonly ExpectedWork[], running: readonly ExpectedWork[], capacity: number) {
  let now = 0;
  let busy = running.map(({ alone, seconds }) => ({ alone, until: seconds }));
  for (const next of order) {
    while (!mayBegin(next, busy, capacity)) {
      const end = Math.min(...busy.map(({ until }) => until));
      now = Math.max(now, end);
      busy = busy.filter(({ until }) => until > end);
    }
    busy.push({ alone: next.alone, until: now + next.seconds });
  }
  return now;
}

/** When the first of these ends and frees its place. */
export function secondsUntilFirstEnds(running: readonly ExpectedWork[]): number {
  return running.length === 0 ? 0 : Math.min(...running.map(({ seconds }) => seconds));
}

/** Expected remaining time of running work; at least half of the mean. */
export function secondsLeft(meanSeconds: number, elapsedSeconds: number): number {
  return Math.max(meanSeconds - elapsedSeconds, meanSeconds / 2);
}

/** Grace period after the Retry-After time, because clients do not retry to the second. */
const graceMs = 30_000;
/** More than any queue's capacity; beyond it, only the last refused clients are remembered. */
const maxExpected = 64;

/** Clients that were refused while they had no request here. One place is reserved for each until it retries or the time is over. */
export class ExpectedClients {
  readonly #until = new Map<string, number>();

  refused(client: string, retryAfterSeconds: number, now: number): void {
    this.#until.delete(client);
    this.#until.set(client, now + retryAfterSeconds * 1000 + graceMs);
    const [oldest] = this.#until.keys();
    if (this.#until.size > maxExpected && oldest !== undefined) this.#until.delete(oldest);
  }

  arrived(client: string): void {
    this.#until.delete(client);
  }

  /** How many clients other than this one are expected. */
  others(client: string, now: number): number {
    for (const [name, until] of this.#until) if (until <= now) this.#until.delete(name);
    return this.#until.size - (this.#until.has(client) ? 1 : 0);
  }
}
