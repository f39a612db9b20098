import type { StoreHealth } from '../../../../core/text-service.ts';
import { type Checkpoint, checkpointBytes } from './checkpoints.ts';
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
