import type { StoreHealth } from '../../../../core/text-service.ts';
import { smallestChunk } from './batch-size.ts';
import { commonPrefix } from './reuse.ts';

/** The computed state of a sequence, to be put back later instead of computing its tokens again. */
export interface Snapshot {
  readonly tokens: Int32Array;
  readonly state: Uint8Array;
  /** Where a memory that cannot forget its end can go back to. */
  readonly checkpoints: readonly Checkpoint[];
}

export function snapshotBytes({ state, checkpoints }: Snapshot): number {
  return state.byteLength + checkpointBytes(checkpoints);
}

/** What is known of a snapshot without reading its state. */
export interface SnapshotEntry {
  readonly id: string;
  readonly tokens: Int32Array;
  readonly bytes: number;
  /** The places of its checkpoints, in the order of the text. */
  readonly checkpoints: readonly number[];
  /** When it was last written or used. */
  readonly usedAt: number;
}

/** What tells whether a snapshot serves a text. */
export function outlineOf({ tokens, checkpoints }: Snapshot): Pick<SnapshotEntry, 'tokens' | 'checkpoints'> {
  return { tokens, checkpoints: checkpoints.map(({ index }) => index) };
}

/** Where snapshots are kept: in memory, or on a disk that outlives the program. */
export interface SnapshotStore {
  entries(): readonly SnapshotEntry[];
  /** Undefined when it is gone or damaged; then it is no longer among the entries either. */
  read(id: string): Promise<Snapshot | undefined>;
  write(snapshot: Snapshot): Promise<void>;
  remove(id: string): Promise<void>;
  /** Only of a store that can fail, and that others share. */
  health?(): StoreHealth;
}

export interface SnapshotChoice<Entry> {
  readonly entry: Entry;
  /** How many tokens it saves. */
  readonly saved: number;
}

/** A snapshot must save at least this many tokens more than what is at hand: putting it back takes time as well. */
const worthReading = 64;

/**
 * The snapshot that saves most, if it saves enough. One that goes on differently after the common part serves too: up to
 * there where the memory of the model can forget its end, otherwise up to the last checkpoint before.
 */
export function chooseSnapshot<Entry extends Pick<SnapshotEntry, 'tokens' | 'checkpoints'>>(
  entries: readonly Entry[],
  wanted: Int32Array,
  atHand: number,
  canRewind: boolean,
): SnapshotChoice<Entry> | undefined {
  let best: SnapshotChoice<Entry> | undefined;
  for (const entry of entries) {
    const common = Math.min(commonPrefix(entry.tokens, wanted), wanted.length - 1);
    const whole = canRewind || entry.tokens.length <= common;
    const saved = whole ? common : (entry.checkpoints.findLast((index) => index <= common) ?? 0);
    if (saved >= atHand + worthReading && saved > (best?.saved ?? 0)) best = { entry, saved };
  }
  return best;
}

/** How much of a text another snapshot must hold for it to be kept already. */
export interface Coverage {
  /** Of a snapshot of the same chat: a growing one is not written at each turn. */
  readonly ofBeginning: number;
  /** Of any other, which may only begin alike. */
  readonly ofOther: number;
}

export const usualCoverage: Coverage = { ofBeginning: 0.8, ofOther: 0.95 };
export const wholly: Coverage = { ofBeginning: 1, ofOther: 1 };

export function isCovered(
  entries: readonly Pick<SnapshotEntry, 'tokens'>[],
  tokens: Int32Array,
  { ofBeginning, ofOther }: Coverage = usualCoverage,
): boolean {
  return entries.some((entry) => {
    const common = commonPrefix(entry.tokens, tokens);
    return common >= (common === entry.tokens.length ? ofBeginning : ofOther) * tokens.length;
  });
}

/** Entries that a snapshot of these tokens makes useless: they are a beginning of it. */
export function superseded(entries: readonly SnapshotEntry[], tokens: Int32Array): readonly SnapshotEntry[] {
  return entries.filter(
    (entry) => entry.tokens.length < tokens.length && commonPrefix(entry.tokens, tokens) === entry.tokens.length,
  );
}

/** Those to give up so that at most `bytes` and `count` are kept, the ones not used for longest first. */
export function overLimit<Entry extends Pick<SnapshotEntry, 'bytes' | 'usedAt'>>(
  entries: readonly Entry[],
  limits: { readonly bytes: number; readonly count: number },
): readonly Entry[] {
  const newestFirst = [...entries].sort((a, b) => b.usedAt - a.usedAt);
  let bytes = 0;
  return newestFirst.filter((entry, index) => {
    // One that can never stay is no reason for others to go.
    if (entry.bytes > limits.bytes) return true;
    bytes += entry.bytes;
    return bytes > limits.bytes || index >= limits.count;
  });
}

/** What a memory cannot take back by itself, as it was when the first `index` tokens were computed. */
export interface Checkpoint {
  readonly index: number;
  readonly state: Uint8Array;
}

export interface CheckpointLimits {
  readonly count: number;
  readonly bytes: number;
}

/** The checkpoints of one text, in its order. Those that follow a change are useless and must be dropped. */
export class Checkpoints {
  #list: readonly Checkpoint[] = [];

  constructor(private readonly limits: CheckpointLimits) {}

  get all(): readonly Checkpoint[] {
    return this.#list;
  }

  get bytes(): number {
    return checkpointBytes(this.#list);
  }

  /** The last one that a text can go back to which is shared up to `index`. */
  upTo(index: number): Checkpoint | undefined {
    return this.#list.findLast((one) => one.index <= index);
  }

  /** Takes one more, and gives up what is least useful to a text of this length where there are too many. */
  add(checkpoint: Checkpoint, end: number): void {
    // Empty: the library could not give it.
    if (checkpoint.state.length === 0 || checkpoint.state.length > this.limits.bytes) return;
    const list = [...this.#list.filter(({ index }) => index < checkpoint.index), checkpoint];
    while (list.length > this.limits.count || checkpointBytes(list) > this.limits.bytes) {
      const indices = list.map(({ index }) => index);
      list.splice(leastUseful(indices, end), 1);
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

export interface CutQuestion {
  /** What is computed already, and how long the text is. */
  readonly from: number;
  readonly end: number;
  /** How many tokens at the end the memory can take back by itself. */
  readonly spare: number;
  /** Whether a turn of a chat may begin here. */
  readonly startsTurn: (index: number) => boolean;
}

/**
 * Distances from the end of a prompt at which the memory is worth keeping. The first serves the same prompt again. Each
 * other one is four times as far as the one before it: a change that lies some tokens before the end then costs a small
 * multiple of them, and not the whole prompt. They leave chunks of 64 rows and more between them.
 */
const distances = Array.from({ length: 7 }, (_, power) => (power === 0 ? 1 : 4 ** (power - 1) * smallestChunk + 1));

/** Shorter texts are read again sooner than they are kept. */
const shortest = 32;

/** Where reading a prompt stops for a moment, so that the memory can be kept; in the order of the text. */
export function checkpointCuts({ from, end, spare, startsTurn }: CutQuestion): readonly number[] {
  const cuts: number[] = [];
  for (const distance of distances) {
    if (distance > 1 && distance <= spare) continue;
    const cut = distance === 1 ? end - 1 : turnBefore(end - distance, distance, startsTurn);
    const before = distance === 1 ? from : from + smallestChunk - 1;
    const known = cuts[0] ?? Number.POSITIVE_INFINITY;
    if (cut >= shortest && cut > before && cut < known) cuts.unshift(cut);
  }
  return cuts;
}

/** The last beginning of a turn up to here, if there is one that is not much further back. */
function turnBefore(index: number, within: number, startsTurn: CutQuestion['startsTurn']): number {
  for (let place = index; place > Math.max(0, index - within); place -= 1) if (startsTurn(place)) return place;
  return index;
}

/**
 * Which of these checkpoints (in the order of the text) is missed least. Without it, a change right before the next one goes
 * back to the one before: what counts is how much that is, measured by how far the change lies from the end. The newest
 * always stays.
 */
export function leastUseful(indices: readonly number[], end: number): number {
  let least = { place: 0, factor: Number.POSITIVE_INFINITY };
  for (let place = 0; place < indices.length - 1; place += 1) {
    const before = indices[place - 1] ?? 0;
    const after = indices[place + 1] as number;
    const factor = (end - before) / (end - after + 1);
    if (factor < least.factor) least = { place, factor };
  }
  return least.place;
}
