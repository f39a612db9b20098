import type { CacheMiss } from '../../../../core/events.ts';
import { isAlive } from '../../../../core/is-alive.ts';
import { steadyTime } from '../../../../core/steady-time.ts';
import type { CacheReport, SnapshotFigures, StateFigures, StatesReport } from '../../../../core/text-service.ts';
import type { StatesAction } from '../../messages.ts';
import type { Loaded } from '../load/model.ts';
import type { Exclusively } from '../media/projector.ts';
import type { Slot } from '../memory/slot.ts';
import { type CachedSequence, chooseSlot, type IsControl, relationOf } from '../memory/slot-choice.ts';
import {
  type CacheLimits,
  type Coverage,
  chooseSnapshot,
  commonPrefix,
  defaultCoverage,
  fullCoverage,
  isCovered,
  outlineOf,
  overLimit,
  type Snapshot,
  type SnapshotEntry,
  type SnapshotStore,
  snapshotBytes,
  superseded,
} from '../memory/snapshot.ts';
import { DiskStore } from './disk-store.ts';
import { computerName, fingerprint } from './fingerprint.ts';

interface SnapshotCacheDeps {
  readonly slots: readonly Slot[];
  /** Snapshots of evicted chats. */
  readonly memory: SnapshotStore | undefined;
  /** Snapshots of long sequences; they survive a restart. */
  readonly disk: SnapshotStore | undefined;
  /** Whether the memory can be rewound without a checkpoint. */
  readonly canRewind: boolean;
  readonly isControl: IsControl;
  /** Runs work that must not overlap with a batch. */
  readonly exclusively: Exclusively;
}

/** Sequences of fewer than `minTokens` tokens, and those that another snapshot covers, are not saved. */
interface SavePolicy {
  readonly minTokens: number;
  readonly coverage: Coverage;
}

/** Shorter sequences are computed faster than restored. At the end of the worker even small additions are written to the disk. */
const savePolicies: Readonly<Record<'memory' | 'disk' | 'lastOnDisk', SavePolicy>> = {
  memory: { minTokens: 33, coverage: fullCoverage },
  disk: { minTokens: 256, coverage: defaultCoverage },
  lastOnDisk: { minTokens: 256, coverage: fullCoverage },
};
/** Snapshots that wait for a slow disk are held in memory: beyond this number the next request waits too. */
const maxPending = 2;

/** Saves evicted sequences, and restores them for prompts that continue them. Without stores it does nothing. */
export class SnapshotCache {
  #writing: Promise<void> = Promise.resolve();
  /** Snapshots being written to the disk. */
  readonly #pending = new Set<Snapshot>();

  constructor(private readonly deps: SnapshotCacheDeps) {}

  figures(): Pick<CacheReport, 'memory' | 'disk'> {
    return { memory: figures(this.deps.memory), disk: figures(this.deps.disk) };
  }

  /**
   * Before a prompt is computed: saves the sequence that it would evict, and restores the best snapshot into its slot. Only a prompt
   * that continues the sequence evicts nothing: one that seems to edit it may be a side task, after which the chat continues.
   */
  async restoreFor(prompt: Int32Array): Promise<void> {
    const { slots, isControl, exclusively } = this.deps;
    if (this.#stores().length === 0) return;
    const choose = async () => chooseSlot(slots, { prompt, canCopy: true, isControl });
    // With checkpoints this calls the library.
    const choice = await (this.deps.canRewind ? choose() : exclusively(choose));
    if (!choice) return;
    const { slot, reusable } = choice;
    const common = commonPrefix(slot.cached, prompt);
    const snapshot = await this.#find(prompt, reusable);
    if (!snapshot && relationOf(slot, prompt, common, isControl) === 'continues') return;
    const evicted = await exclusively(async () => {
      if (slot.busy) return undefined;
      const evicted = this.#storesWithout(slot).length > 0 ? slot.snapshot() : undefined;
      if (snapshot) slot.restore(snapshot);
      return evicted;
    });
    if (evicted) await this.#save(evicted);
  }

  /** After a generation: saves long sequences for the next start. */
  async ended(slot: Slot): Promise<void> {
    const { disk, exclusively } = this.deps;
    if (!disk || !this.#storesWithout(slot).includes(disk)) return;
    const snapshot = await exclusively(async () => (slot.busy ? undefined : slot.snapshot()));
    if (snapshot) await this.#onDisk(snapshot);
  }

  /** Before the worker ends: the most recent sequences first, since time may not suffice for all. */
  async close(): Promise<void> {
    const { slots, disk, exclusively } = this.deps;
    const newestFirst = [...slots].sort((a, b) => b.usedAt - a.usedAt);
    for (const slot of disk ? newestFirst : []) {
      if (!disk || !isWorthSaving(slot.cached, disk.entries(), savePolicies.lastOnDisk)) continue;
      const snapshot = await exclusively(async () => slot.snapshot());
      if (snapshot) await this.#onDisk(snapshot, savePolicies.lastOnDisk);
    }
    await this.#writing;
  }

  async #save(snapshot: Snapshot): Promise<void> {
    const { memory, disk } = this.deps;
    if (memory) await write(memory, snapshot, savePolicies.memory);
    if (disk) await this.#onDisk(snapshot);
  }

  /** Resolves when the snapshot is queued; it is written later. */
  async #onDisk(snapshot: Snapshot, policy = savePolicies.disk): Promise<void> {
    const { disk } = this.deps;
    if (!disk) return;
    if (this.#pending.size >= maxPending) await this.#writing;
    this.#pending.add(snapshot);
    this.#writing = this.#writing
      .then(() => write(disk, snapshot, policy))
      // The store counts failures.
      .catch(() => undefined)
      .finally(() => this.#pending.delete(snapshot));
  }

  /** The stores that lack the sequence of this slot. */
  #storesWithout({ cached }: Slot): SnapshotStore[] {
    const { memory, disk } = this.deps;
    return [
      ...(memory && isWorthSaving(cached, memory.entries(), savePolicies.memory) ? [memory] : []),
      ...(disk && isWorthSaving(cached, [...disk.entries(), ...this.#pending], savePolicies.disk) ? [disk] : []),
    ];
  }

  async #find(prompt: Int32Array, reusable: number): Promise<Snapshot | undefined> {
    const pending = [...this.#pending].map((snapshot) => ({ snapshot, ...outlineOf(snapshot) }));
    const waiting = chooseSnapshot(pending, prompt, reusable, this.deps.canRewind);
    if (waiting) return waiting.entry.snapshot;
    for (const store of this.#stores()) {
      const choice = chooseSnapshot(store.entries(), prompt, reusable, this.deps.canRewind);
      const snapshot = choice && (await store.read(choice.entry.id));
      if (snapshot) return snapshot;
    }
    return undefined;
  }

  #stores(): SnapshotStore[] {
    return [this.deps.memory, this.deps.disk].filter((store) => store !== undefined);
  }
}

async function write(store: SnapshotStore, snapshot: Snapshot, policy: SavePolicy): Promise<void> {
  const { tokens } = snapshot;
  if (!isWorthSaving(tokens, store.entries(), policy)) return;
  const obsolete = superseded(store.entries(), tokens);
  await store.write(snapshot);
  for (const { id } of obsolete) await store.remove(id);
}

function isWorthSaving(
  tokens: Int32Array,
  saved: readonly Pick<Snapshot, 'tokens'>[],
  { minTokens, coverage }: SavePolicy,
) {
  return tokens.length >= minTokens && !isCovered(saved, tokens, coverage);
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
  log: (sentence: string) => void,
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
        log,
      })
    : undefined;
  const canRewind = context.memory === 'plain' && context.savesAll;
  const isControl = (token: number) => vocabulary.isControl(token);
  return new SnapshotCache({ slots, memory, disk, canRewind, isControl, exclusively });
}

/** Snapshots in memory. */
export class MemoryStore implements SnapshotStore {
  readonly #snapshots = new Map<string, { entry: SnapshotEntry; readonly snapshot: Snapshot }>();
  #nextId = 1;

  constructor(
    private readonly limits: CacheLimits,
    private readonly now: () => number,
  ) {}

  entries(): readonly SnapshotEntry[] {
    return [...this.#snapshots.values()].map(({ entry }) => entry);
  }

  async read(id: string): Promise<Snapshot | undefined> {
    const stored = this.#snapshots.get(id);
    if (!stored) return undefined;
    stored.entry = { ...stored.entry, usedAt: this.now() };
    return stored.snapshot;
  }

  async remove(id: string): Promise<void> {
    this.#snapshots.delete(id);
  }

  async write(snapshot: Snapshot): Promise<void> {
    const id = String(this.#nextId++);
    const bytes = snapshotBytes(snapshot) + snapshot.tokens.byteLength;
    this.#snapshots.set(id, { entry: { id, ...outlineOf(snapshot), bytes, usedAt: this.now() }, snapshot });
    for (const { id: old } of overLimit(this.entries(), this.limits)) this.#snapshots.delete(old);
  }
}

/** Tokens before and after a difference that are reported: about a line of text. */
const excerptTokens = 12;
const maxMisses = 20;

/** Records where prompts differ from the cached sequence; usually in a line near the top that changes each turn. */
export class CacheMissLog {
  readonly #misses: CacheMiss[] = [];

  constructor(
    private readonly detokenize: (tokens: Int32Array) => string,
    private readonly isControl: IsControl,
    private readonly now: () => number,
  ) {}

  get misses(): readonly CacheMiss[] {
    return [...this.#misses];
  }

  /** `slot` is the slot before the prompt is put there. Neither a continuation nor another chat is a miss. */
  look(slot: CachedSequence, prompt: Int32Array, reach: (common: number) => number): CacheMiss | undefined {
    const { cached } = slot;
    const partedAt = commonPrefix(cached, prompt);
    if (partedAt >= cached.length - 1 || partedAt >= prompt.length - 1) return undefined;
    const relation = relationOf(slot, prompt, partedAt, this.isControl);
    if (relation !== 'continues' && relation !== 'edits') return undefined;
    const miss: CacheMiss = {
      time: this.now(),
      partedAt,
      promptTokens: prompt.length,
      reusedTokens: reach(partedAt),
      before: this.#excerpt(prompt, partedAt - excerptTokens, partedAt),
      kept: this.#excerpt(cached, partedAt, partedAt + excerptTokens),
      wanted: this.#excerpt(prompt, partedAt, partedAt + excerptTokens),
    };
    this.#misses.push(miss);
    if (this.#misses.length > maxMisses) this.#misses.shift();
    return miss;
  }

  #excerpt(tokens: Int32Array, from: number, to: number): string {
    return this.detokenize(tokens.subarray(Math.max(0, from), Math.max(0, to)).filter((token) => token >= 0));
  }
}

const empty: StateFigures = { tokens: 0, bytes: 0 };

/** Numbered snapshots that clients save and load. They stay until they are replaced or cleared. */
export class SavedStateSlots {
  readonly #states: (Snapshot | undefined)[];

  constructor(
    private readonly slots: readonly Slot[],
    count: number,
    private readonly now: () => number,
  ) {
    this.#states = new Array<Snapshot | undefined>(count).fill(undefined);
  }

  /** Must not overlap with a batch. */
  perform(action: StatesAction): StatesReport | StateFigures | null {
    switch (action.type) {
      case 'check':
        return { places: this.#states.map(stateFigures), current: this.#lastUsed()?.snapshotFigures ?? empty };
      case 'save':
        return this.#save(action.index);
      case 'load':
        return this.#load(action.index);
      case 'clear':
        this.#states.fill(undefined);
        return null;
    }
  }

  #save(index: number): StateFigures | null {
    const slot = this.#lastUsed();
    const snapshot = slot?.busy ? undefined : slot?.snapshot();
    if (!snapshot || !(index in this.#states)) return null;
    this.#states[index] = snapshot;
    return stateFigures(snapshot);
  }

  /** Restores it into the slot where the next prompt of this chat will be computed. */
  #load(index: number): StateFigures | null {
    const snapshot = this.#states[index];
    if (!snapshot) return null;
    const request = { prompt: snapshot.tokens, canCopy: false, isControl: () => false };
    const slot = chooseSlot(this.slots, request)?.slot;
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
