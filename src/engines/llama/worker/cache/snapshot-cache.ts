import type { CacheReport, SnapshotFigures } from '../../../../core/text-service.ts';
import type { Loaded } from '../load/model.ts';
import { chooseSlot, commonPrefix, isSameChat } from '../memory/reuse.ts';
import type { Slot } from '../memory/slot.ts';
import {
  type Coverage,
  chooseSnapshot,
  isCovered,
  outlineOf,
  overLimit,
  type Snapshot,
  type SnapshotEntry,
  type SnapshotStore,
  snapshotBytes,
  superseded,
  usualCoverage,
  wholly,
} from '../memory/snapshot.ts';
import { DiskStore, isAlive } from './disk-store.ts';
import { computerName, fingerprint } from './fingerprint.ts';

export interface SnapshotCacheParts {
  readonly slots: readonly Slot[];
  /** Snapshots of chats that had to make room, for as long as the program runs. */
  readonly memory: SnapshotStore | undefined;
  /** Snapshots of long texts, for the next start as well. */
  readonly disk: SnapshotStore | undefined;
  /** Whether the memory can forget the end of a text without a checkpoint. */
  readonly canRewind: boolean;
  /** Runs work that must not meet a batch in the library. */
  readonly exclusively: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

interface Worth {
  /** Shorter texts are computed sooner than they are kept. */
  readonly least: number;
  /** What another snapshot holds so much of is not kept again. */
  readonly coverage: Coverage;
}

/** A copy in memory is made at once; a disk is spared. */
const worth: Readonly<Record<'memory' | 'disk' | 'lastOnDisk', Worth>> = {
  memory: { least: 33, coverage: wholly },
  disk: { least: 256, coverage: usualCoverage },
  lastOnDisk: { least: 256, coverage: wholly },
};
/** Snapshots that wait for the disk are in memory: whoever brings one more waits until there are fewer. */
const mostPending = 2;

/** Keeps what the slots lose, and brings it back when it is wanted again. Without stores it does nothing. */
export class SnapshotCache {
  #writing: Promise<void> = Promise.resolve();
  /** On their way to the disk; as good as there. */
  readonly #pending = new Set<Snapshot>();

  constructor(private readonly parts: SnapshotCacheParts) {}

  figures(): Pick<CacheReport, 'memory' | 'disk'> {
    return { memory: figures(this.parts.memory), disk: figures(this.parts.disk) };
  }

  /** Before a prompt is computed: whatever would be lost is kept, and the best snapshot is put where the prompt will go. */
  async bring(wanted: Int32Array): Promise<void> {
    const { slots, exclusively } = this.parts;
    if (this.#stores().length === 0) return;
    const choose = async () => chooseSlot(slots, wanted, true);
    // A memory that may need a checkpoint is asked how far it reaches.
    const choice = await (this.parts.canRewind ? choose() : exclusively(choose));
    if (!choice) return;
    const { slot, atHand } = choice;
    const common = commonPrefix(slot.cached, wanted);
    const found = await this.#find(wanted, atHand);
    if (!found && isSameChat(slot, wanted, common)) return;
    const lost = await exclusively(async () => {
      if (slot.busy) return undefined;
      const snapshot = this.#lacking(slot).length > 0 ? slot.snapshot() : undefined;
      if (found) slot.restore(found);
      return snapshot;
    });
    if (lost) await this.#keep(lost);
  }

  /** After a generation: a long text is worth keeping for the next start. */
  async ended(slot: Slot): Promise<void> {
    const { disk, exclusively } = this.parts;
    if (!disk || !this.#lacking(slot).includes(disk)) return;
    const snapshot = await exclusively(async () => (slot.busy ? undefined : slot.snapshot()));
    if (snapshot) await this.#onDisk(snapshot);
  }

  /** Before the end of the program: the newest texts first, since time may not be enough for all. */
  async close(): Promise<void> {
    const { slots, disk, exclusively } = this.parts;
    const newestFirst = [...slots].sort((a, b) => b.usedAt - a.usedAt);
    for (const slot of disk ? newestFirst : []) {
      if (!disk || !isWorthKeeping(slot.cached, disk.entries(), worth.lastOnDisk)) continue;
      const snapshot = await exclusively(async () => slot.snapshot());
      if (snapshot) await this.#onDisk(snapshot, worth.lastOnDisk);
    }
    await this.#writing;
  }

  async #keep(snapshot: Snapshot): Promise<void> {
    const { memory, disk } = this.parts;
    if (memory) await write(memory, snapshot, worth.memory);
    if (disk) await this.#onDisk(snapshot);
  }

  /** Resolves when the snapshot is taken over; it is written later, since nobody should have to wait for a disk. */
  async #onDisk(snapshot: Snapshot, how = worth.disk): Promise<void> {
    const { disk } = this.parts;
    if (!disk) return;
    if (this.#pending.size >= mostPending) await this.#writing;
    this.#pending.add(snapshot);
    this.#writing = this.#writing
      .then(() => write(disk, snapshot, how))
      // A full or broken disk costs time at the next start, and nothing now; the store counts it.
      .catch(() => undefined)
      .finally(() => this.#pending.delete(snapshot));
  }

  /** The stores that should have what is in this slot and do not. */
  #lacking({ cached }: Slot): SnapshotStore[] {
    const { memory, disk } = this.parts;
    return [
      ...(memory && isWorthKeeping(cached, memory.entries(), worth.memory) ? [memory] : []),
      ...(disk && isWorthKeeping(cached, [...disk.entries(), ...this.#pending], worth.disk) ? [disk] : []),
    ];
  }

  async #find(wanted: Int32Array, atHand: number): Promise<Snapshot | undefined> {
    const pending = [...this.#pending].map((snapshot) => ({ snapshot, ...outlineOf(snapshot) }));
    const waiting = chooseSnapshot(pending, wanted, atHand, this.parts.canRewind);
    if (waiting) return waiting.entry.snapshot;
    for (const store of this.#stores()) {
      const choice = chooseSnapshot(store.entries(), wanted, atHand, this.parts.canRewind);
      const found = choice && (await store.read(choice.entry.id));
      if (found) return found;
    }
    return undefined;
  }

  #stores(): SnapshotStore[] {
    return [this.parts.memory, this.parts.disk].filter((store) => store !== undefined);
  }
}

async function write(store: SnapshotStore, snapshot: Snapshot, how: Worth): Promise<void> {
  const { tokens } = snapshot;
  if (!isWorthKeeping(tokens, store.entries(), how)) return;
  const useless = superseded(store.entries(), tokens);
  await store.write(snapshot);
  for (const { id } of useless) await store.remove(id);
}

function isWorthKeeping(
  tokens: Int32Array,
  kept: readonly { readonly tokens: Int32Array }[],
  { least, coverage }: Worth,
): boolean {
  return tokens.length >= least && !isCovered(kept, tokens, coverage);
}

function figures(store: SnapshotStore | undefined): SnapshotFigures | null {
  if (!store) return null;
  const entries = store.entries();
  const health = store.health?.();
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  return { snapshots: entries.length, bytes, ...(health ? { health } : {}) };
}

/** Snapshots in memory take as much of it as they like below this; beyond it the oldest go. */
const memoryBytes = 8 * 2 ** 30;

/** The keeper that the options ask for; undefined when they ask for none. */
export async function openSnapshotCache(
  { native, options, context, info }: Loaded,
  slots: readonly Slot[],
  exclusively: SnapshotCacheParts['exclusively'],
  tell: (sentence: string) => void,
): Promise<SnapshotCache | undefined> {
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
  return new SnapshotCache({ slots, memory, disk, canRewind, exclusively });
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
