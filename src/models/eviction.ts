/** A loaded model, as the eviction policy sees it. */
export interface Resident {
  /** Unique. */
  readonly id: string;
  readonly bytes: number;
  /** Milliseconds of a monotonic clock. */
  readonly lastUsed: number;
  /** Never evicted. */
  readonly pinned: boolean;
  /** Small and of another kind: uses memory, but does not count against `count`. */
  readonly auxiliary: boolean;
  /** Has running requests, which must finish before it is unloaded. */
  readonly busy: boolean;
}

export interface MemoryBudget {
  /** For all models together. */
  readonly bytes: number;
  /** The most models that may be loaded. */
  readonly count: number;
}

/** The model to be loaded. */
export interface Newcomer {
  readonly bytes: number;
  readonly auxiliary?: boolean;
}

/**
 * Chooses the models to evict so that one more fits: idle ones before busy ones, and the least recently used first. Evicts no
 * model needlessly. `cannot` if it would not fit beside the pinned models even if all others were evicted.
 */
export function evict(
  residents: readonly Resident[],
  newcomer: Newcomer,
  budget: MemoryBudget,
): readonly string[] | 'cannot' {
  const order = residents
    .filter(({ pinned }) => !pinned)
    .sort((a, b) => Number(a.busy) - Number(b.busy) || a.lastUsed - b.lastUsed);
  const fitsWithout = (gone: readonly Resident[]): boolean =>
    fits(
      residents.filter((resident) => !gone.includes(resident)),
      newcomer,
      budget,
    );
  const gone: Resident[] = [];
  for (const next of order) {
    if (fitsWithout(gone)) break;
    gone.push(next);
  }
  if (!fitsWithout(gone)) return 'cannot';
  // A small model that was chosen first may fit again after a large one was chosen: the most recently used is spared first.
  for (const spared of [...gone].reverse()) {
    const fewer = gone.filter((resident) => resident !== spared);
    if (fitsWithout(fewer)) gone.splice(gone.indexOf(spared), 1);
  }
  return gone.map(({ id }) => id);
}

/** Whether one more fits beside these. */
export function fits(residents: readonly Resident[], newcomer: Newcomer, budget: MemoryBudget): boolean {
  // A model that needs no memory always fits.
  if (newcomer.auxiliary && newcomer.bytes === 0) return true;
  const counted = residents.filter(({ auxiliary }) => !auxiliary).length;
  return (newcomer.auxiliary || counted < budget.count) && sum(residents) + newcomer.bytes <= budget.bytes;
}

const sum = (residents: readonly Resident[]): number => residents.reduce((total, { bytes }) => total + bytes, 0);
