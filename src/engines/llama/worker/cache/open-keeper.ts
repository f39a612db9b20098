import type { Loaded } from '../load/model.ts';
import type { Slot } from '../memory/slot.ts';
import {
  outlineOf,
  overLimit,
  type Snapshot,
  type SnapshotEntry,
  type SnapshotStore,
  snapshotBytes,
} from '../memory/snapshot.ts';
import { DiskStore } from './disk-store.ts';
import { isAlive } from './file-names.ts';
import { computerName, fingerprint } from './fingerprint.ts';
import { type KeeperParts, SnapshotKeeper } from './keeper.ts';

/** Snapshots in memory take as much of it as they like below this; beyond it the oldest go. */
const memoryBytes = 8 * 2 ** 30;

/** The keeper that the options ask for; undefined when they ask for none. */
export async function openKeeper(
  { native, options, context, info }: Loaded,
  slots: readonly Slot[],
  exclusively: KeeperParts['exclusively'],
  tell: (sentence: string) => void,
): Promise<SnapshotKeeper | undefined> {
  const { smartCache, diskCache } = options;
  if (smartCache <= 0 && !diskCache) return undefined;
  const now = () => Date.now();
  const memory = smartCache > 0 ? new MemoryStore({ count: smartCache, bytes: memoryBytes }, now) : undefined;
  const disk = diskCache
    ? await DiskStore.open({
        ...diskCache,
        fingerprint: await fingerprint(options, computerName(native.version(), options, info)),
        now,
        processes: { own: process.pid, alive: isAlive },
        tell,
      })
    : undefined;
  const canRewind = context.memory === 'plain' && context.savesAll;
  return new SnapshotKeeper({ slots, memory, disk, canRewind, exclusively });
}

interface MemoryLimits {
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
