import type { CacheReport, SnapshotFigures } from '../../../../core/cache-report.ts';
import { commonPrefix } from '../reuse.ts';
import type { Slot } from '../slot.ts';
import { chooseSlot } from '../slot-choice.ts';
import {
  chooseSnapshot,
  isCovered,
  outlineOf,
  type Snapshot,
  type SnapshotStore,
  superseded,
  wholly,
} from './snapshot.ts';

export interface KeeperParts {
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

/** Shorter ones are computed sooner than they are kept. */
const shortest = { memory: 33, disk: 256 };
/** A slot of which less than this stays is about to lose its chat. */
const staying = 0.7;
/** Snapshots that wait for the disk are in memory: whoever brings one more waits until there are fewer. */
const mostPending = 2;

/** Keeps what the slots lose, and brings it back when it is wanted again. Without stores it does nothing. */
export class SnapshotKeeper {
  #writing: Promise<void> = Promise.resolve();
  /** On their way to the disk; as good as there. */
  readonly #pending = new Set<Snapshot>();

  constructor(private readonly parts: KeeperParts) {}

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
    if (!found && common >= staying * slot.computed) return;
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
      if (slot.computed < shortest.disk || (disk && isCovered(disk.entries(), slot.cached, wholly))) continue;
      const snapshot = await exclusively(async () => slot.snapshot());
      if (snapshot) await this.#onDisk(snapshot, wholly);
    }
    await this.#writing;
  }

  async #keep(snapshot: Snapshot): Promise<void> {
    const { memory, disk } = this.parts;
    if (memory) await write(memory, snapshot, shortest.memory);
    if (disk) await this.#onDisk(snapshot);
  }

  /** Resolves when the snapshot is taken over; it is written later, since nobody should have to wait for a disk. */
  async #onDisk(snapshot: Snapshot, share?: number): Promise<void> {
    const { disk } = this.parts;
    if (!disk) return;
    if (this.#pending.size >= mostPending) await this.#writing;
    this.#pending.add(snapshot);
    this.#writing = this.#writing
      .then(() => write(disk, snapshot, shortest.disk, share))
      // A full or broken disk costs time at the next start, and nothing now; the store counts it.
      .catch(() => undefined)
      .finally(() => this.#pending.delete(snapshot));
  }

  /** The stores that should have what is in this slot and do not. */
  #lacking({ computed, cached }: Slot): SnapshotStore[] {
    const { memory, disk } = this.parts;
    const lacks = (store: SnapshotStore | undefined, least: number, pending: Iterable<Snapshot> = []) =>
      store && computed >= least && !isCovered([...store.entries(), ...pending], cached) ? [store] : [];
    return [...lacks(memory, shortest.memory), ...lacks(disk, shortest.disk, this.#pending)];
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

async function write(store: SnapshotStore, snapshot: Snapshot, least: number, share?: number): Promise<void> {
  const { tokens } = snapshot;
  if (tokens.length < least || isCovered(store.entries(), tokens, share)) return;
  const useless = superseded(store.entries(), tokens);
  await store.write(snapshot);
  for (const { id } of useless) await store.remove(id);
}

function figures(store: SnapshotStore | undefined): SnapshotFigures | null {
  if (!store) return null;
  const entries = store.entries();
  const health = store.health?.();
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  return { snapshots: entries.length, bytes, ...(health ? { health } : {}) };
}
