import { isAlive } from '../../../../core/processes.ts';
import { steadyTime } from '../../../../core/steady-time.ts';
import type { CacheReport, SnapshotFigures, StateFigures, StatesReport } from '../../../../core/text-service.ts';
import type { FromWorker, StatesAction } from '../../messages.ts';
import type { Loaded } from '../load/model.ts';
import type { Exclusively } from '../media/projector.ts';
import type { CellPool } from '../memory/cell-pool.ts';
import { CopyCosts, stateBound } from '../memory/kept-states.ts';
import type { Slot } from '../memory/slot.ts';
import { chooseSlot, type IsControl, relationOf } from '../memory/slot-choice.ts';
import {
  type Coverage,
  chooseSnapshot,
  commonPrefix,
  defaultCoverage,
  fullCoverage,
  isCovered,
  outlineOf,
  type Snapshot,
  type SnapshotStore,
  snapshotBytes,
  superseded,
} from '../memory/snapshot.ts';
import { keptStates } from '../scheduling.ts';
import { DiskStore } from './disk-store.ts';
import { computerName, fingerprint } from './fingerprint.ts';
import { MemoryStore } from './memory-store.ts';

interface SnapshotCacheDeps {
  readonly slots: readonly Slot[];
  /** Where sequences share their cells. */
  readonly pool?: Pick<CellPool, 'makeRoomFor'> | undefined;
  /** Snapshots of evicted chats. */
  readonly memory: MemoryStore | undefined;
  /** Stops keeping short chats in memory while none of them is continued: without `--smartcache`. */
  readonly sparing?: boolean;
  /** Snapshots of long sequences; they survive a restart. */
  readonly disk: SnapshotStore | undefined;
  /** Whether the memory can be rewound without a checkpoint. */
  readonly canRewind: boolean;
  readonly isControl: IsControl;
  /** Runs work that must not overlap with a batch. */
  readonly exclusively: Exclusively;
  /** The clock of the slots. */
  readonly now: () => number;
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
  readonly #costs = new CopyCosts();

  constructor(private readonly deps: SnapshotCacheDeps) {}

  figures(): Pick<CacheReport, 'memory' | 'disk'> {
    return { memory: this.deps.memory?.figures ?? null, disk: figures(this.deps.disk) };
  }

  /** The tokens of all snapshots. */
  sequences(): readonly Int32Array[] {
    return this.#stores().flatMap((store) => store.entries().map(({ tokens }) => tokens));
  }

  /** Before a prompt is computed: restores the best snapshot into its slot, and saves what it would overwrite. */
  async restoreFor(prompt: Int32Array): Promise<void> {
    const { slots, isControl, exclusively, memory, disk } = this.deps;
    if (this.#stores().length === 0) return;
    memory?.trim(this.#cached());
    const choose = () => chooseSlot(slots, { prompt, canCopy: true, isControl });
    // With checkpoints this calls the library.
    const choice = this.deps.canRewind ? choose() : await exclusively(async () => choose());
    if (!choice) return;
    const snapshot = await this.#find(prompt, choice.reusable);
    // A copy in memory is made when the slot is taken: requests that wait for a batch each would not share the next one.
    if (!snapshot && this.deps.canRewind && !(disk && this.#overwrites(choice.slot, prompt))) return;
    const evicted = await exclusively(async () => {
      // Another request may have taken the slot meanwhile.
      const slot = choose()?.slot;
      if (!slot) return undefined;
      const evicted = this.#keep(slot, snapshot ? undefined : prompt);
      if (snapshot) this.#restore(slot, snapshot);
      return evicted;
    });
    if (evicted) await this.#onDisk(evicted);
  }

  #restore(slot: Slot, snapshot: Snapshot): void {
    this.deps.pool?.makeRoomFor(slot, snapshot.tokens.length);
    const begunAt = this.deps.now();
    slot.restore(snapshot);
    // The next request to restore something takes another slot.
    slot.usedAt = this.deps.now();
    this.#costs.copied(snapshot.state.length, slot.usedAt - begunAt);
    this.#costs.restored();
  }

  /**
   * Right before a slot is overwritten by a prompt, or by something else: saves what would have to be computed again. With a
   * disk, `restoreFor` has done that already, unless other requests have changed the choice meanwhile.
   */
  beforeOverwrite(slot: Slot, prompt: Int32Array | undefined): void {
    const evicted = this.#keep(slot, prompt);
    if (evicted && this.#pending.size < maxPending) void this.#onDisk(evicted);
  }

  /** Copies what a slot has computed into memory; false if there is no room, or if computing it again takes less time. */
  save(slot: Slot): boolean {
    const { memory } = this.deps;
    if (!memory) return false;
    this.beforeOverwrite(slot, undefined);
    const { cached } = slot;
    return cached.length < savePolicies.memory.minTokens || isCovered(memory.entries(), cached, fullCoverage);
  }

  /** Called after prompts were computed, with their tokens and the time it took. */
  computed(tokens: number, milliseconds: number): void {
    this.#costs.computed(tokens, milliseconds);
  }

  /** After a generation: saves long sequences for the next start. */
  async ended(slot: Slot): Promise<void> {
    const { disk, exclusively } = this.deps;
    if (!disk || !this.#storesWithout(slot).includes(disk)) return;
    const snapshot = await exclusively(async () => (slot.busy ? undefined : slot.snapshot()));
    if (snapshot) await this.#onDisk(snapshot);
  }

  /** Frees memory that others need. */
  release(bytes: number): void {
    const { memory } = this.deps;
    memory?.trim(this.#cached(), { bytes: Math.max(0, memory.figures.bytes - bytes) });
  }

  /** Saves the most recent sequences first, since the time may not suffice for all; none without `saves`. */
  async close({ saves = true } = {}): Promise<void> {
    const { slots, disk, exclusively } = this.deps;
    const newestFirst = [...slots].sort((a, b) => b.usedAt - a.usedAt);
    for (const slot of disk && saves ? newestFirst : []) {
      if (!disk || !isWorthSaving(slot.cached, disk.entries(), savePolicies.lastOnDisk)) continue;
      const snapshot = await exclusively(async () => slot.snapshot());
      if (snapshot) await this.#onDisk(snapshot, savePolicies.lastOnDisk);
    }
    await this.#writing;
  }

  /** Copies what the prompt (or something else) would overwrite into memory; returns it if the disk lacks it too. */
  #keep(slot: Slot, prompt: Int32Array | undefined): Snapshot | undefined {
    const { memory, disk, now } = this.deps;
    const lost = this.#overwrites(slot, prompt);
    const stores = lost ? this.#storesWithout(slot) : [];
    const { tokens, bytes } = stores.length > 0 ? slot.snapshotFigures : { tokens: 0, bytes: 0 };
    if (tokens === 0) return undefined;
    const isWanted = this.#costs.keeps(lost, bytes) && !(this.deps.sparing && this.#costs.isUnlikelyUsed(lost, now()));
    const inMemory = memory && stores.includes(memory) && isWanted && this.#admits(slot, bytes);
    const onDisk = disk !== undefined && stores.includes(disk);
    if (!inMemory && !onDisk) return undefined;
    const begunAt = now();
    const snapshot = slot.snapshot();
    if (!snapshot) return undefined;
    this.#costs.copied(snapshot.state.length, now() - begunAt);
    if (inMemory) {
      memory.add(snapshot);
      this.#costs.kept(lost, now());
    }
    return onDisk ? snapshot : undefined;
  }

  /** How many tokens would be lost (see `overwrittenTokens`); 0 if they are too few to be saved. */
  #overwrites(slot: Slot, prompt: Int32Array | undefined): number {
    const lost = overwrittenTokens(slot, prompt, this.deps.isControl);
    return lost < savePolicies.memory.minTokens ? 0 : lost;
  }

  /** Makes room for the sequence of a slot, and removes the snapshots that it continues. */
  #admits(slot: Slot, bytes: number): boolean {
    const { memory } = this.deps;
    if (!memory?.admits(slot.cached, bytes + slot.cached.byteLength, this.#cached(slot))) return false;
    for (const { id } of superseded(memory.entries(), slot.cached)) void memory.remove(id);
    return true;
  }

  /** The cached tokens of all slots but one. */
  #cached(except?: Slot): Int32Array[] {
    return this.deps.slots.filter((slot) => slot !== except).map(({ cached }) => cached);
  }

  /** Resolves when the snapshot is queued; it is written later. */
  async #onDisk(snapshot: Snapshot, policy = savePolicies.disk): Promise<void> {
    const { disk } = this.deps;
    if (!disk) return;
    if (this.#pending.size >= maxPending) await this.#writing;
    this.#pending.add(snapshot);
    this.#writing = this.#writing
      .then(() => writeTo(disk, snapshot, policy))
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
    const { canRewind } = this.deps;
    const gain = (tokens: number, bytes: number) => this.#costs.gain(tokens, bytes);
    const pending = [...this.#pending].map((snapshot) => ({
      snapshot,
      bytes: snapshotBytes(snapshot),
      ...outlineOf(snapshot),
    }));
    const waiting = chooseSnapshot(pending, prompt, reusable, canRewind, gain);
    if (waiting) return waiting.entry.snapshot;
    for (const store of this.#stores()) {
      const choice = chooseSnapshot(store.entries(), prompt, reusable, canRewind, gain);
      const snapshot = choice && (await store.read(choice.entry.id));
      if (snapshot) return snapshot;
    }
    return undefined;
  }

  #stores(): SnapshotStore[] {
    return [this.deps.memory, this.deps.disk].filter((store) => store !== undefined);
  }
}

/**
 * How many computed tokens of a slot are lost if this prompt is computed there, or if all is overwritten. The reply to a repeated prompt
 * does not count, nor the beginning that a story loses turn by turn.
 */
export function overwrittenTokens(
  slot: Pick<Slot, 'cached' | 'promptLength' | 'shifted' | 'reach'>,
  prompt: Int32Array | undefined,
  isControl: IsControl,
): number {
  const { cached, promptLength } = slot;
  if (!prompt) return cached.length;
  const common = commonPrefix(cached, prompt);
  if (common >= prompt.length - 1 && prompt.length >= promptLength) return 0;
  if (slot.shifted && relationOf(slot, prompt, common, isControl) === 'edits') return 0;
  return cached.length - slot.reach(Math.min(common, prompt.length - 1));
}

async function writeTo(store: SnapshotStore, snapshot: Snapshot, policy: SavePolicy): Promise<void> {
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

/** The main memory of the machine, as the worker sees it. */
interface MemoryView {
  /** Before the model was loaded. */
  readonly availableBefore: number;
  readonly available: () => number;
}

/** The cache that the options request; undefined if they request none. */
export async function openSnapshotCache(
  loaded: Loaded,
  { slots, pool, exclusively, send, view, now }: OpenCacheDeps,
): Promise<SnapshotCache | undefined> {
  const { native, options, context, info, vocabulary } = loaded;
  const { smartCache, diskCache, reusePrompt } = options;
  if (!reusePrompt || (smartCache === 0 && !diskCache)) return undefined;
  const count = smartCache < 0 ? keptStates.maxCount : smartCache;
  const bytes = smartCache < 0 ? freeForStates(loaded, view) : () => keptStates.maxBytes;
  const changed = (figures: SnapshotFigures) => send({ type: 'snapshots', figures });
  const limits = (held: number) => ({ count, bytes: bytes(held) });
  const memory = smartCache === 0 ? undefined : new MemoryStore({ limits, now: steadyTime, changed });
  const disk = diskCache
    ? await DiskStore.open({
        ...diskCache,
        fingerprint: await fingerprint(options, computerName(native.version(), options, info)),
        now: steadyTime,
        processes: { own: process.pid, alive: isAlive },
        log: (text) => send({ type: 'note', text }),
      })
    : undefined;
  if (memory) changed(memory.figures);
  const canRewind = context.memory === 'plain' && context.savesAll;
  const sparing = smartCache < 0;
  return new SnapshotCache({
    slots,
    pool,
    memory,
    sparing,
    disk,
    canRewind,
    isControl: vocabulary.isControl,
    exclusively,
    now,
  });
}

interface OpenCacheDeps extends Pick<SnapshotCacheDeps, 'slots' | 'pool' | 'exclusively' | 'now'> {
  readonly send: (message: FromWorker) => void;
  readonly view: MemoryView;
}

/** How many bytes snapshots may take now: a part of what the model leaves free, less what other programs have taken since. */
function freeForStates({ options, context, contextSize, info }: Loaded, { availableBefore, available }: MemoryView) {
  const { sizeBytes, cacheBytesPerToken } = options.shape;
  const onProcessor = 1 - Math.min(1, info.gpuLayers / (info.layers + 1));
  const cells = context.pool ?? contextSize * options.sequences;
  const contextBytes = cacheBytesPerToken * cells * (options.offloadCache ? onProcessor : 1);
  const memory = { availableBytes: availableBefore, weightBytes: sizeBytes * onProcessor, contextBytes };
  const bound = stateBound(memory);
  const expected = available() - contextBytes;
  return (held: number): number =>
    Math.max(keptStates.minBytes, Math.min(bound, bound + available() + held - expected));
}

const empty: StateFigures = { tokens: 0, bytes: 0 };

interface SavedState {
  readonly snapshot: Snapshot;
  readonly setting: string | undefined;
}

interface SavedStateDeps {
  readonly snapshots?: () => Pick<SnapshotCache, 'beforeOverwrite'> | undefined;
  readonly pool?: SnapshotCacheDeps['pool'];
  /** The adapters that apply now. */
  readonly setting?: () => string;
}

/** Numbered snapshots that clients save and load. They stay until they are replaced or cleared. */
export class SavedStateSlots {
  readonly #states: (SavedState | undefined)[];

  constructor(
    private readonly slots: readonly Slot[],
    count: number,
    private readonly now: () => number,
    private readonly deps: SavedStateDeps = {},
  ) {
    this.#states = new Array<SavedState | undefined>(count).fill(undefined);
  }

  /** Must not overlap with a batch. */
  perform(action: StatesAction): StatesReport | StateFigures | null {
    switch (action.type) {
      case 'check':
        return {
          slots: this.#states.map((state) => stateFigures(state?.snapshot)),
          current: this.#lastUsed()?.snapshotFigures ?? empty,
        };
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
    this.#states[index] = { snapshot, setting: this.deps.setting?.() };
    return stateFigures(snapshot);
  }

  /** Restores it into the slot where the next prompt of this chat will be computed. */
  #load(index: number): StateFigures | null {
    const { snapshot, setting } = this.#states[index] ?? {};
    // Computed with other adapters, it would be wrong for the next prompt.
    if (!snapshot || setting !== this.deps.setting?.()) return null;
    const request = { prompt: snapshot.tokens, canCopy: false, isControl: () => false };
    const slot = chooseSlot(this.slots, request)?.slot;
    if (slot) this.deps.snapshots?.()?.beforeOverwrite(slot, undefined);
    if (slot) this.deps.pool?.makeRoomFor(slot, snapshot.tokens.length);
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
