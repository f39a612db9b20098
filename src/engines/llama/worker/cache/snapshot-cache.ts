import type { CacheMiss } from '../../../../core/events.ts';
import { isAlive } from '../../../../core/is-alive.ts';
import { steadyTime } from '../../../../core/steady-time.ts';
import type { CacheReport, SnapshotFigures, StateFigures, StatesReport } from '../../../../core/text-service.ts';
import type { StatesAction } from '../../messages.ts';
import type { Loaded } from '../load/model.ts';
import type { Exclusively } from '../media/projector.ts';
import type { Slot } from '../memory/slot.ts';
import { chooseSlot, type IsMark, type KeptText, relationOf } from '../memory/slot-choice.ts';
import {
  type CacheLimits,
  type Coverage,
  chooseSnapshot,
  commonPrefix,
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
import { DiskStore } from './disk-store.ts';
import { computerName, fingerprint } from './fingerprint.ts';

interface SnapshotCacheParts {
  readonly slots: readonly Slot[];
  /** Snapshots of evicted chats. */
  readonly memory: SnapshotStore | undefined;
  /** Snapshots of long texts; they survive a restart. */
  readonly disk: SnapshotStore | undefined;
  /** Whether the memory can be rewound without a checkpoint. */
  readonly canRewind: boolean;
  readonly isMark: IsMark;
  /** Runs work that must not overlap with a batch. */
  readonly exclusively: Exclusively;
}

/** Texts of fewer than `least` tokens, and those that another snapshot covers, are not saved. */
interface Worth {
  readonly least: number;
  readonly coverage: Coverage;
}

const worth: Readonly<Record<'memory' | 'disk' | 'lastOnDisk', Worth>> = {
  memory: { least: 33, coverage: wholly },
  disk: { least: 256, coverage: usualCoverage },
  lastOnDisk: { least: 256, coverage: wholly },
};
/** Snapshots that wait for the disk are in memory: one more waits until there are fewer. */
const mostPending = 2;

/** Saves what slots lose, and restores it when a prompt needs it. Without stores it does nothing. */
export class SnapshotCache {
  #writing: Promise<void> = Promise.resolve();
  /** Being written to the disk. */
  readonly #pending = new Set<Snapshot>();

  constructor(private readonly parts: SnapshotCacheParts) {}

  figures(): Pick<CacheReport, 'memory' | 'disk'> {
    return { memory: figures(this.parts.memory), disk: figures(this.parts.disk) };
  }

  /**
   * Before a prompt is computed: saves what would be lost, and restores the best snapshot into the slot of the prompt. Only a prompt
   * that continues the text loses nothing: one that seems to be an edit of it may be a side task, and the chat comes back.
   */
  async bring(wanted: Int32Array): Promise<void> {
    const { slots, isMark, exclusively } = this.parts;
    if (this.#stores().length === 0) return;
    const choose = async () => chooseSlot(slots, { wanted, canCopy: true, isMark });
    // With checkpoints this calls the library.
    const choice = await (this.parts.canRewind ? choose() : exclusively(choose));
    if (!choice) return;
    const { slot, atHand } = choice;
    const common = commonPrefix(slot.cached, wanted);
    const found = await this.#find(wanted, atHand);
    if (!found && relationOf(slot, wanted, common, isMark) === 'continues') return;
    const lost = await exclusively(async () => {
      if (slot.busy) return undefined;
      const snapshot = this.#lacking(slot).length > 0 ? slot.snapshot() : undefined;
      if (found) slot.restore(found);
      return snapshot;
    });
    if (lost) await this.#keep(lost);
  }

  /** After a generation: saves long texts for the next start. */
  async ended(slot: Slot): Promise<void> {
    const { disk, exclusively } = this.parts;
    if (!disk || !this.#lacking(slot).includes(disk)) return;
    const snapshot = await exclusively(async () => (slot.busy ? undefined : slot.snapshot()));
    if (snapshot) await this.#onDisk(snapshot);
  }

  /** Before the worker ends: the newest texts first, since time may not suffice for all. */
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

  /** Resolves when the snapshot is queued; it is written later. */
  async #onDisk(snapshot: Snapshot, how = worth.disk): Promise<void> {
    const { disk } = this.parts;
    if (!disk) return;
    if (this.#pending.size >= mostPending) await this.#writing;
    this.#pending.add(snapshot);
    this.#writing = this.#writing
      .then(() => write(disk, snapshot, how))
      // The store counts failures.
      .catch(() => undefined)
      .finally(() => this.#pending.delete(snapshot));
  }

  /** The stores to which the text of this slot should be saved. */
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

function isWorthKeeping(tokens: Int32Array, kept: readonly Pick<Snapshot, 'tokens'>[], { least, coverage }: Worth) {
  return tokens.length >= least && !isCovered(kept, tokens, coverage);
}

function figures(store: SnapshotStore | undefined): SnapshotFigures | null {
  if (!store) return null;
  const entries = store.entries();
  const health = store.health?.();
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  return { snapshots: entries.length, bytes, ...(health ? { health } : {}) };
}

/** Limit of all snapshots in memory; beyond it the oldest are evicted. */
const memoryBytes = 8 * 2 ** 30;

/** The cache by the options; undefined if they have none. */
export async function openSnapshotCache(
  { native, options, context, info, vocabulary }: Loaded,
  slots: readonly Slot[],
  exclusively: Exclusively,
  tell: (sentence: string) => void,
): Promise<SnapshotCache | undefined> {
  const { smartCache, diskCache } = options;
  if (smartCache <= 0 && !diskCache) return undefined;
  const memory = smartCache > 0 ? new MemoryStore({ count: smartCache, bytes: memoryBytes }, steadyTime) : undefined;
  const disk = diskCache
    ? await DiskStore.open({
        ...diskCache,
        fingerprint: await fingerprint(options, computerName(native.version(), options, info)),
        now: steadyTime,
        processes: { own: process.pid, alive: isAlive },
        tell,
      })
    : undefined;
  const canRewind = context.memory === 'plain' && context.savesAll;
  const isMark = (token: number) => vocabulary.isControl(token);
  return new SnapshotCache({ slots, memory, disk, canRewind, isMark, exclusively });
}

/** Snapshots in memory. */
export class MemoryStore implements SnapshotStore {
  readonly #kept = new Map<string, { entry: SnapshotEntry; readonly snapshot: Snapshot }>();
  #nextId = 1;

  constructor(
    private readonly limits: CacheLimits,
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

const shownTokens = 12;
const remembered = 20;

/** Records where prompts differ from the cached text; usually a line near the top that changes each turn. */
export class CacheMissLog {
  readonly #misses: CacheMiss[] = [];

  constructor(
    private readonly detokenize: (tokens: Int32Array) => string,
    private readonly isMark: IsMark,
    private readonly now: () => number,
  ) {}

  get misses(): readonly CacheMiss[] {
    return [...this.#misses];
  }

  /** `kept` is the slot before `wanted` is put there. A text that continues is no miss, nor is one of another chat. */
  look(kept: KeptText, wanted: Int32Array, reach: (common: number) => number): CacheMiss | undefined {
    const { cached } = kept;
    const partedAt = commonPrefix(cached, wanted);
    if (partedAt >= cached.length - 1 || partedAt >= wanted.length - 1) return undefined;
    const relation = relationOf(kept, wanted, partedAt, this.isMark);
    if (relation !== 'continues' && relation !== 'edits') return undefined;
    const miss: CacheMiss = {
      time: this.now(),
      partedAt,
      promptTokens: wanted.length,
      reusedTokens: reach(partedAt),
      before: this.#show(wanted, partedAt - shownTokens, partedAt),
      kept: this.#show(cached, partedAt, partedAt + shownTokens),
      wanted: this.#show(wanted, partedAt, partedAt + shownTokens),
    };
    this.#misses.push(miss);
    if (this.#misses.length > remembered) this.#misses.shift();
    return miss;
  }

  #show(tokens: Int32Array, from: number, to: number): string {
    return this.detokenize(tokens.subarray(Math.max(0, from), Math.max(0, to)).filter((token) => token >= 0));
  }
}

const empty: StateFigures = { tokens: 0, bytes: 0 };

/** Numbered snapshots that clients save and load. They stay until they are replaced or cleared. */
export class SavedStateSlots {
  readonly #places: (Snapshot | undefined)[];

  constructor(
    private readonly slots: readonly Slot[],
    count: number,
    private readonly now: () => number,
  ) {
    this.#places = new Array<Snapshot | undefined>(count).fill(undefined);
  }

  /** Must not overlap with a batch. */
  perform(action: StatesAction): StatesReport | StateFigures | null {
    switch (action.type) {
      case 'check':
        return { places: this.#places.map(stateFigures), current: this.#lastUsed()?.snapshotFigures ?? empty };
      case 'save':
        return this.#save(action.place);
      case 'load':
        return this.#load(action.place);
      case 'clear':
        this.#places.fill(undefined);
        return null;
    }
  }

  #save(place: number): StateFigures | null {
    const slot = this.#lastUsed();
    const snapshot = slot?.busy ? undefined : slot?.snapshot();
    if (!snapshot || !(place in this.#places)) return null;
    this.#places[place] = snapshot;
    return stateFigures(snapshot);
  }

  /** Restores it into the slot where the next prompt of this chat will be computed. */
  #load(place: number): StateFigures | null {
    const snapshot = this.#places[place];
    if (!snapshot) return null;
    const question = { wanted: snapshot.tokens, canCopy: false, isMark: () => false };
    const slot = chooseSlot(this.slots, question)?.slot;
    if (!slot?.restore(snapshot)) return null;
    slot.usedAt = this.now();
    return stateFigures(snapshot);
  }

  #lastUsed(): Slot | undefined {
    return this.slots.toSorted((a, b) => b.usedAt - a.usedAt)[0];
  }
}

function stateFigures(snapshot: Snapshot | undefined): StateFigures {
  return snapshot ? { tokens: snapshot.tokens.length, bytes: snapshotBytes(snapshot) } : empty;
}
