import type { StoreHealth } from '../../../../core/text-service.ts';
import { batching, checkpoints, keptStates, slots } from '../scheduling.ts';
import type { PromptPlan } from '../text/prompt.ts';

/** The computed state of a sequence, to be restored instead of computing its tokens again. */
export interface Snapshot {
  readonly tokens: Int32Array;
  readonly state: Uint8Array;
  /** For memories that cannot be rewound. */
  readonly checkpoints: readonly Checkpoint[];
}

export function snapshotBytes({ state, checkpoints }: Snapshot): number {
  return state.byteLength + checkpointBytes(checkpoints);
}

/** A snapshot without its state. */
export interface SnapshotEntry {
  readonly id: string;
  readonly tokens: Int32Array;
  readonly bytes: number;
  /** Indices of its checkpoints, ascending. */
  readonly checkpoints: readonly number[];
  /** When it was last written or used. */
  readonly usedAt: number;
}

/** The part of a snapshot that decides whether it serves a prompt. */
export function outlineOf({ tokens, checkpoints }: Snapshot): Pick<SnapshotEntry, 'tokens' | 'checkpoints'> {
  return { tokens, checkpoints: checkpoints.map(({ index }) => index) };
}

/** Snapshots in memory or on disk. */
export interface SnapshotStore {
  entries(): readonly SnapshotEntry[];
  /** Undefined if it is missing or damaged; then it is no longer an entry. */
  read(id: string): Promise<Snapshot | undefined>;
  write(snapshot: Snapshot): Promise<void>;
  remove(id: string): Promise<void>;
  /** Only of the disk, which can fail and is shared. */
  health?(): StoreHealth;
}

/**
 * The snapshot that gains most, if enough: it saves the tokens up to the first difference or, without rewinding, to the last checkpoint
 * before it. `gain` is the benefit of saved tokens less the cost of copied bytes.
 */
export function chooseSnapshot<Entry extends Pick<SnapshotEntry, 'tokens' | 'checkpoints' | 'bytes'>>(
  entries: readonly Entry[],
  prompt: Int32Array,
  reusable: number,
  canRewind: boolean,
  gain: (tokens: number, bytes: number) => number = (tokens) => tokens,
) {
  let best: { readonly entry: Entry; readonly saved: number; readonly gained: number } | undefined;
  for (const entry of entries) {
    const common = Math.min(commonPrefix(entry.tokens, prompt), prompt.length - 1);
    const whole = canRewind || entry.tokens.length <= common;
    const saved = whole ? common : (entry.checkpoints.findLast((index) => index <= common) ?? 0);
    if (saved < reusable + keptStates.minSaved) continue;
    const gained = gain(saved - reusable, entry.bytes);
    if (gained > (best?.gained ?? 0)) best = { entry, saved, gained };
  }
  return best;
}

/**
 * Which part of a sequence a snapshot must contain to cover it. A prefix of it covers it with a smaller part: it belongs to the same
 * chat, which is then not written at every turn.
 */
export type Coverage = Readonly<Record<'ofBeginning' | 'ofOther', number>>;

export const defaultCoverage: Coverage = { ofBeginning: 0.8, ofOther: 0.95 };
export const fullCoverage: Coverage = { ofBeginning: 1, ofOther: 1 };

export function isCovered(
  entries: readonly Pick<SnapshotEntry, 'tokens'>[],
  tokens: Int32Array,
  { ofBeginning, ofOther }: Coverage = defaultCoverage,
): boolean {
  return entries.some((entry) => {
    const common = commonPrefix(entry.tokens, tokens);
    return common >= (common === entry.tokens.length ? ofBeginning : ofOther) * tokens.length;
  });
}

/** Entries that are a prefix of a snapshot of these tokens. */
export function superseded(entries: readonly SnapshotEntry[], tokens: Int32Array): readonly SnapshotEntry[] {
  return entries.filter(
    (entry) => entry.tokens.length < tokens.length && commonPrefix(entry.tokens, tokens) === entry.tokens.length,
  );
}

/** The entries to evict, least recently used first, so that at most `bytes` and `count` are left. */
export function overLimit<Entry extends Pick<SnapshotEntry, 'bytes' | 'usedAt'>>(
  entries: readonly Entry[],
  limits: CacheLimits,
): readonly Entry[] {
  const newestFirst = [...entries].sort((a, b) => b.usedAt - a.usedAt);
  let bytes = 0;
  return newestFirst.filter((entry, index) => {
    // An entry that is too large by itself does not evict others.
    if (entry.bytes > limits.bytes) return true;
    bytes += entry.bytes;
    return bytes > limits.bytes || index >= limits.count;
  });
}

/** The parts of a memory that cannot be rewound, as they were after the first `index` tokens. */
export interface Checkpoint {
  readonly index: number;
  readonly state: Uint8Array;
}

export type CacheLimits = Readonly<Record<'count' | 'bytes', number>>;

/** The checkpoints of one sequence, ascending. Those after a change must be dropped. */
export class Checkpoints {
  #list: readonly Checkpoint[] = [];

  constructor(private readonly limits: CacheLimits) {}

  get all(): readonly Checkpoint[] {
    return this.#list;
  }

  get bytes(): number {
    return checkpointBytes(this.#list);
  }

  /** The last checkpoint up to `index`. */
  upTo(index: number): Checkpoint | undefined {
    return this.#list.findLast((one) => one.index <= index);
  }

  /**
   * Adds a checkpoint, and drops the least useful ones beyond the limits; `end` is the length of the sequence. That before the reply stays,
   * because the next prompt may leave out the thinking at its beginning.
   */
  add(checkpoint: Checkpoint, end: number, replyStart = 0): void {
    // An empty state means that the library has failed.
    if (checkpoint.state.length === 0 || checkpoint.state.length > this.limits.bytes) return;
    const list = [...this.#list.filter(({ index }) => index < checkpoint.index), checkpoint];
    while (list.length > this.limits.count || checkpointBytes(list) > this.limits.bytes) {
      const indices = list.map(({ index }) => index);
      list.splice(leastUseful(indices, end, replyStart - 1), 1);
    }
    this.#list = list;
  }

  dropBehind(index: number): void {
    if (this.#list.some((one) => one.index > index)) this.#list = this.#list.filter((one) => one.index <= index);
  }

  replace(list: readonly Checkpoint[]): void {
    this.#list = list;
  }
}

function checkpointBytes(list: readonly Checkpoint[]): number {
  return list.reduce((sum, { state }) => sum + state.length, 0);
}

/** `from` is the first token to compute, `end` the length of the prompt, `spare` how far the memory rewinds without a checkpoint. */
export interface CutOptions extends Readonly<Record<'from' | 'end' | 'spare', number>> {
  readonly startsTurn: (index: number) => boolean;
}

/** Distances of checkpoints from the end of a prompt: 1 serves the same prompt again; a change costs a small multiple of its distance. */
const distances = Array.from({ length: 7 }, (_, power) => (power === 0 ? 1 : 4 ** (power - 1) * batching.minChunk + 1));

/** Indices at which prefill stops for a checkpoint, ascending. */
export function checkpointCuts({ from, end, spare, startsTurn }: CutOptions): readonly number[] {
  const cuts: number[] = [];
  for (const distance of distances) {
    if (distance > 1 && distance <= spare) continue;
    const cut = distance === 1 ? end - 1 : turnBefore(end - distance, distance, startsTurn);
    const before = distance === 1 ? from : from + batching.minChunk - 1;
    const known = cuts[0] ?? Number.POSITIVE_INFINITY;
    if (cut >= checkpoints.minIndex && cut > before && cut < known) cuts.unshift(cut);
  }
  return cuts;
}

/** The last start of a turn up to `index`, if it is at most `within` tokens before it. */
function turnBefore(index: number, within: number, startsTurn: CutOptions['startsTurn']): number {
  for (let at = index; at > Math.max(0, index - within); at -= 1) if (startsTurn(at)) return at;
  return index;
}

/**
 * The checkpoint (of these, ascending) whose removal costs least. Without it, a change right before the next checkpoint rewinds to the
 * previous one: the cost is that distance, relative to the distance of the change from the end. The newest is never removed,
 * and `preserved` only if there is no other.
 */
export function leastUseful(indices: readonly number[], end: number, preserved = -1): number {
  let cheapest = { entry: 0, cost: Number.POSITIVE_INFINITY };
  for (let entry = 0; entry < indices.length - 1; entry += 1) {
    if (indices[entry] === preserved) continue;
    const before = indices[entry - 1] ?? 0;
    const after = indices[entry + 1] as number;
    const cost = (end - before) / (end - after + 1);
    if (cost < cheapest.cost) cheapest = { entry, cost };
  }
  return cheapest.entry;
}

interface Reuse {
  /** Removed from the cache first, and the rest moves down: a chat that dropped its oldest turns. */
  readonly shift: { readonly from: number; readonly count: number } | undefined;
  /** Tokens at the beginning of the prompt that need no computing. */
  readonly keep: number;
}

const nothing: Reuse = { shift: undefined, keep: 0 };

/** How many cached tokens the new prompt reuses. At least one token is left to compute, for the first logits. */
export function planReuse(
  cached: Int32Array,
  plan: Pick<PromptPlan, 'tokens' | 'maxTokens'>,
  contextSize: number,
  canShift: boolean,
): Reuse {
  const { tokens: prompt } = plan;
  const common = commonPrefix(cached, prompt);
  const shifted = canShift ? planShift(cached, plan, contextSize, common) : undefined;
  if (shifted) return shifted;
  const keep = Math.min(common, prompt.length - 1);
  return keep < slots.minReuse ? nothing : { shift: undefined, keep };
}

/** Shifts only for a long exact match later in the cache: the values of shifted cells still depend on the removed tokens. */
function planShift(
  cached: Int32Array,
  { tokens: prompt, maxTokens }: Pick<PromptPlan, 'tokens' | 'maxTokens'>,
  contextSize: number,
  common: number,
): Reuse | undefined {
  const fresh = prompt.length - common;
  const shortfall = 200 + Math.min(contextSize / 30, 140);
  if (fresh < shortfall) return undefined;
  const slack = 60 + Math.min(contextSize / 60, 70);
  const needed = Math.max(Math.min(fresh - (maxTokens + slack), 0.45 * contextSize), shortfall - slack);
  const { start, length } = longestContinuation(cached.subarray(common), prompt.subarray(common));
  if (start === 0 || length <= needed) return undefined;
  return { shift: { from: common, count: start }, keep: Math.min(common + length, prompt.length - 1) };
}

export function commonPrefix(a: Int32Array, b: Int32Array): number {
  const end = Math.min(a.length, b.length);
  let index = 0;
  while (index < end && a[index] === b[index]) index += 1;
  return index;
}

/** Where in `old` the longest prefix of `next` is (Z-function over next + old: linear time). */
export function longestContinuation(old: Int32Array, next: Int32Array): { start: number; length: number } {
  const joined = new Int32Array(next.length + 1 + old.length);
  joined.set(next);
  joined[next.length] = -1;
  joined.set(old, next.length + 1);
  const matches = new Int32Array(joined.length);
  let best = { start: 0, length: 0 };
  for (let index = 1, left = 0, right = 0; index < joined.length; index += 1) {
    let length = index < right ? Math.min(right - index, matches[index - left] as number) : 0;
    while (index + length < joined.length && joined[length] === joined[index + length]) length += 1;
    matches[index] = length;
    if (index + length > right) {
      left = index;
      right = index + length;
    }
    if (index > next.length && length > best.length) best = { start: index - next.length - 1, length };
  }
  return best;
}
