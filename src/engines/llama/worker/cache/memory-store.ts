import {
  outlineOf,
  overLimit,
  type Snapshot,
  type SnapshotEntry,
  type SnapshotStore,
  snapshotBytes,
} from '../memory/snapshot.ts';

export interface MemoryLimits {
  readonly count: number;
  readonly bytes: number;
}

/** Snapshots in memory: gone with the program, and read at once. */
export class MemoryStore implements SnapshotStore {
  readonly #kept = new Map<string, { entry: SnapshotEntry; readonly snapshot: Snapshot }>();
  #nextId = 1;

  constructor(
    private readonly limits: MemoryLimits,
    private readonly now: () => number,
  ) {}

  entries(): readonly SnapshotEntry[] {
    return [...this.#kept.values()].map(({ entry }) => entry);
  }

  async read(id: string): Promise<Snapshot | undefined> {
    const kept = this.#kept.get(id);
    if (!kept) return undefined;
    kept.entry = { ...kept.entry, usedAt: this.now() };
    return kept.snapshot;
  }

  async remove(id: string): Promise<void> {
    this.#kept.delete(id);
  }

  async write(snapshot: Snapshot): Promise<void> {
    const id = String(this.#nextId++);
    const bytes = snapshotBytes(snapshot) + snapshot.tokens.byteLength;
    this.#kept.set(id, { entry: { id, ...outlineOf(snapshot), bytes, usedAt: this.now() }, snapshot });
    for (const { id: old } of overLimit(this.entries(), this.limits)) this.#kept.delete(old);
  }
}
