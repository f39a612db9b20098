/**
 * Who goes next, as pure functions: the queue around them owns the places. The clients that wait sit in a ring and take
 * turns, and within one client its parts do (the genkeys of one address) in a ring of their own; of one part the oldest request
 * goes first. So somebody with twenty requests does not keep out somebody with one, whatever keys they are sent with. A newcomer sits down at the end of the ring: nobody who comes later goes before somebody who waits,
 * unless it is by a turn that was due before. So a client that waits is served after at most one turn of each that sat there
 * when it came, however many strangers follow.
 */
export interface Waiting {
  readonly client: string;
  /** Which part of the client: parts share its turns and take turns in them. */
  readonly part?: string;
  /** Cannot share the engine with others: it begins when nobody works, and nobody begins beside it. */
  readonly alone: boolean;
  /** How much of a turn it takes. With less than 1 the client goes on with its turn; with more it sits the next ones out. */
  readonly cost: number;
}

export interface Seat {
  readonly client: string;
  /** How much of its turn is used up; from 1 on it is the turns to come. */
  readonly used: number;
  /** The parts of the client that wait. */
  readonly parts: Ring;
}

/** The waiting clients, the next one first. */
export type Ring = readonly Seat[];

/** The ring for those who wait now: whoever waits no longer has left it and owes nothing, whoever is new is last. */
export function seated(ring: Ring, waiting: readonly Waiting[]): Ring {
  return seatedBy(byClient, ring, waiting);
}

export interface Turn<Entry extends Waiting> {
  readonly entry: Entry;
  /** The ring once it has begun. */
  readonly ring: Ring;
}

/** Whose turn it is. `waiting` is in the order of arrival. */
export function nextTurn<Entry extends Waiting>(ring: Ring, waiting: readonly Entry[]): Turn<Entry> | undefined {
  return turnBy(byClient, ring, waiting);
}

/** How those who wait are told apart, and how those within one seat are. */
interface Level {
  readonly nameOf: (one: Waiting) => string;
  readonly within?: Level;
}

const byClient: Level = { nameOf: ({ client }) => client, within: { nameOf: ({ part = '' }) => part } };

function seatedBy({ nameOf, within }: Level, ring: Ring, waiting: readonly Waiting[]): Ring {
  const names = new Set(waiting.map(nameOf));
  const kept = ring.filter(({ client }) => names.delete(client));
  const seats = [...kept, ...[...names].map((client) => ({ client, used: 0, parts: [] }))];
  if (!within) return seats;
  return seats.map((seat) => {
    const own = waiting.filter((one) => nameOf(one) === seat.client);
    return { ...seat, parts: seatedBy(within, seat.parts, own) };
  });
}

function turnBy<Entry extends Waiting>(level: Level, ring: Ring, waiting: readonly Entry[]): Turn<Entry> | undefined {
  let seats = seatedBy(level, ring, waiting);
  for (;;) {
    const [seat, ...others] = seats;
    if (!seat) return undefined;
    if (seat.used >= 1) {
      seats = [...others, { ...seat, used: seat.used - 1 }];
      continue;
    }
    const own = waiting.filter((one) => level.nameOf(one) === seat.client);
    const next = level.within ? turnBy(level.within, seat.parts, own) : own[0] && { entry: own[0], ring: [] };
    if (!next) return undefined;
    const used = seat.used + next.entry.cost;
    const after = { ...seat, parts: next.ring };
    seats = used >= 1 ? [...others, { ...after, used: used - 1 }] : [{ ...after, used }, ...others];
    const left = waiting.filter((one) => one !== next.entry);
    return { entry: next.entry, ring: seatedBy(level, seats, left) };
  }
}

/** The next request waits for its own conditions and blocks the others, or a request that must run alone could wait forever. */
export function mayBegin(
  next: Pick<Waiting, 'alone'>,
  running: readonly Pick<Waiting, 'alone'>[],
  capacity: number,
): boolean {
  if (running.some(({ alone }) => alone)) return false;
  return next.alone ? running.length === 0 : running.length < capacity;
}

/** The order in which the waiting requests would run if no other arrived. */
export function servingOrder<Entry extends Waiting>(ring: Ring, waiting: readonly Entry[]): Entry[] {
  const order: Entry[] = [];
  let left = waiting;
  for (let turn = nextTurn(ring, left); turn; turn = nextTurn(turn.ring, left)) {
    const { entry } = turn;
    order.push(entry);
    left = left.filter((one) => one !== entry);
  }
  return order;
}

/** A request for admission. */
export interface Newcomer {
  /** Whether its client already has a running or waiting request. */
  readonly holds: boolean;
  /** How many other clients were refused and are expected to retry. */
  readonly expectedOthers: number;
}

/**
 * Whether a newcomer gets one of the free places. Who has nothing here does as long as there is one; who has something leaves
 * one for each that is expected. So a lone client may have all places, but not again and again while others are sent
 * away, and nobody is ever thrown out for somebody else.
 */
export function isTakenIn({ holds, expectedOthers }: Newcomer, freePlaces: number): boolean {
  return freePlaces > (holds ? expectedOthers : 0);
}
