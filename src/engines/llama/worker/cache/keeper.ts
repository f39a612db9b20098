import type { CacheReport, SnapshotFigures } from '../../../../core/cache-report.ts';
import { commonPrefix } from '../reuse.ts';
import type { Slot } from '../slot.ts';
import { chooseSlot } from '../slot-choice.ts';
import { chooseSnapshot, isCovered, type Snapshot, type SnapshotStore, superseded } from './snapshot.ts';

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

/** Keeps what the slots lose, and brings it back when it is wanted again. Without stores it does nothing. */
export class SnapshotKeeper {
  #writing: Promise<void> = Promise.resolve();

  constructor(private readonly parts: KeeperParts) {}

  figures(): Pick<CacheReport, 'memory' | 'disk'> {
    return { memory: figures(this.parts.memory), disk: figures(this.parts.disk) };
  }

  /** Resolves when what is being written now has been written. */
  written(): Promise<void> {
    return this.#writing;
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
    await exclusively(async () => {
      if (slot.busy) return;
      await this.#keep(slot);
      if (found) slot.restore(found);
    });
  }

  /** After a generation: a long text is worth keeping for the next start. */
  async ended(slot: Slot): Promise<void> {
    const { disk, exclusively } = this.parts;
    if (!disk || slot.computed < shortest.disk || isCovered(disk.entries(), slot.cached)) return;
    this.#writing = exclusively(async () => {
      if (!slot.busy) await this.#write(disk, slot, shortest.disk);
    }).catch(() => undefined);
    await this.#writing;
  }

  async #keep(slot: Slot): Promise<void> {
    const { memory, disk } = this.parts;
    if (memory) await this.#write(memory, slot, shortest.memory);
    if (disk) await this.#write(disk, slot, shortest.disk);
  }

  async #write(store: SnapshotStore, slot: Slot, least: number): Promise<void> {
    if (slot.computed < least || isCovered(store.entries(), slot.cached)) return;
    const snapshot = slot.snapshot();
    if (!snapshot) return;
    const useless = superseded(store.entries(), snapshot.tokens);
    await store.write(snapshot);
    for (const { id } of useless) await store.remove(id);
  }

  async #find(wanted: Int32Array, atHand: number): Promise<Snapshot | undefined> {
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

function figures(store: SnapshotStore | undefined): SnapshotFigures | null {
  if (!store) return null;
  const entries = store.entries();
  return { snapshots: entries.length, bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0) };
}
