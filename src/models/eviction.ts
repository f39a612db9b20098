/** A model in memory, as far as it matters to who has to go. */
export interface Resident {
  /** No two have the same. */
  readonly id: string;
  readonly bytes: number;
  /** Milliseconds of a clock that never goes back. */
  readonly lastUsed: number;
  /** Stays, whatever comes. */
  readonly pinned: boolean;
  /** Small beside the others and of another kind: it takes memory, but is not one of the `count`. */
  readonly besides: boolean;
  /** Somebody is being served by it: it can go only when that is over. */
  readonly busy: boolean;
}

export interface Room {
  /** What all models together may take. */
  readonly bytes: number;
  /** How many may be there at once. */
  readonly count: number;
}

/** What is to come. */
export interface Newcomer {
  readonly bytes: number;
  readonly besides?: boolean;
}

/**
 * Who has to go so that one more fits: those without work before those with, and among them whoever was not needed for
 * longest. Nobody goes in vain: each who is named is needed for it. `cannot` where it would not fit beside the pinned
 * ones even if all others went.
 */
export function evict(residents: readonly Resident[], newcomer: Newcomer, room: Room): readonly string[] | 'cannot' {
  const order = residents.filter(({ pinned }) => !pinned).sort(byWhoGoesFirst);
  const fitsWithout = (gone: readonly Resident[]): boolean =>
    fits(
      residents.filter((resident) => !gone.includes(resident)),
      newcomer,
      room,
    );
  const gone: Resident[] = [];
  for (const next of order) {
    if (fitsWithout(gone)) break;
    gone.push(next);
  }
  if (!fitsWithout(gone)) return 'cannot';
  // A small one that went first may be able to stay now that a large one goes: whoever was used last is asked first.
  for (const spared of [...gone].reverse()) {
    const fewer = gone.filter((resident) => resident !== spared);
    if (fitsWithout(fewer)) gone.splice(gone.indexOf(spared), 1);
  }
  return gone.map(({ id }) => id);
}

/** Whether there is room for one more beside these. */
export function fits(residents: readonly Resident[], newcomer: Newcomer, room: Room): boolean {
  // What takes nothing needs nobody's room, however little there is.
  if (newcomer.besides && newcomer.bytes === 0) return true;
  const counted = residents.filter(({ besides }) => !besides).length;
  return (newcomer.besides || counted < room.count) && sum(residents) + newcomer.bytes <= room.bytes;
}

function byWhoGoesFirst(a: Resident, b: Resident): number {
  return Number(a.busy) - Number(b.busy) || a.lastUsed - b.lastUsed;
}

const sum = (residents: readonly Resident[]): number => residents.reduce((total, { bytes }) => total + bytes, 0);
