import type { SnapshotFigures } from '../../../../core/text-service.ts';
import { type KeptState, statesToDrop } from '../memory/kept-states.ts';
import {
  type CacheLimits,
  outlineOf,
  type Snapshot,
  type SnapshotEntry,
  type SnapshotStore,
  snapshotBytes,
} from '../memory/snapshot.ts';

export interface MemoryStoreOptions {
  /** The limits now, while this many bytes are in use. */
  readonly limits: (heldBytes: number) => CacheLimits;
  readonly now: () => number;
  /** Called after each change. */
  readonly changed?: (figures: SnapshotFigures) => void;
}

type MemoryEntry = SnapshotEntry & KeptState;

/** Snapshots in memory. */
export class MemoryStore implements SnapshotStore {
  readonly #snapshots = new Map<string, { entry: MemoryEntry; readonly snapshot: Snapshot }>();
  #nextId = 1;

  constructor(private readonly options: MemoryStoreOptions) {}

  entries(): readonly MemoryEntry[] {
    return [...this.#snapshots.values()].map(({ entry }) => entry);
  }

  async read(id: string): Promise<Snapshot | undefined> {
    const stored = this.#snapshots.get(id);
    if (!stored) return undefined;
    const { entry } = stored;
    stored.entry = { ...entry, usedAt: this.options.now(), uses: entry.uses + 1 };
    return stored.snapshot;
  }

  async remove(id: string): Promise<void> {
    this.#drop([{ id }]);
  }

  async write(snapshot: Snapshot): Promise<void> {
    this.add(snapshot);
    this.trim();
  }

  /** Makes room for a state of this size, preferring to drop what other slots have; false if the other states are worth more. */
  admits(tokens: Int32Array, bytes: number, inOtherSlots: readonly Int32Array[]): boolean {
    const entry = { id: '', tokens, bytes, checkpoints: [], usedAt: this.options.now(), uses: 0 };
    const dropped = this.#overLimit([...this.entries(), entry], inOtherSlots);
    if (dropped.includes(entry)) return false;
    this.#drop(dropped);
    return true;
  }

  /** Adds a snapshot without looking at the limits (see `admits`). */
  add(snapshot: Snapshot): void {
    const id = String(this.#nextId++);
    const bytes = snapshotBytes(snapshot) + snapshot.tokens.byteLength;
    const entry = { id, ...outlineOf(snapshot), bytes, usedAt: this.options.now(), uses: 0 };
    this.#snapshots.set(id, { entry, snapshot });
    this.options.changed?.(this.figures);
  }

  /** Drops what is over the limits. */
  trim(inSlots: readonly Int32Array[] = [], limits: Partial<CacheLimits> = {}): void {
    this.#drop(this.#overLimit(this.entries(), inSlots, limits));
  }

  get figures(): SnapshotFigures {
    const bytes = sum(this.entries());
    return { snapshots: this.#snapshots.size, bytes, limitBytes: this.options.limits(bytes).bytes };
  }

  #overLimit(
    entries: readonly MemoryEntry[],
    inSlots: readonly Int32Array[],
    limits: Partial<CacheLimits> = {},
  ): readonly MemoryEntry[] {
    const allowed = { ...this.options.limits(sum(this.entries())), ...limits };
    return statesToDrop(entries, inSlots, allowed, this.options.now());
  }

  #drop(entries: readonly Pick<MemoryEntry, 'id'>[]): void {
    if (entries.length === 0) return;
    for (const { id } of entries) this.#snapshots.delete(id);
    this.options.changed?.(this.figures);
  }
}

const sum = (entries: readonly MemoryEntry[]): number => entries.reduce((total, { bytes }) => total + bytes, 0);
