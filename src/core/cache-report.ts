/** What the engine keeps of earlier prompts, and where it could not be used: for people who wonder why a prompt is slow. */
export interface CacheReport {
  readonly slots: readonly SlotFigures[];
  readonly memory: SnapshotFigures | null;
  readonly disk: SnapshotFigures | null;
  /** The newest last. */
  readonly misses: readonly CacheMiss[];
}

export interface SlotFigures {
  readonly tokens: number;
  readonly busy: boolean;
  /** Only where the memory of the model needs them to go back, and there are any. */
  readonly checkpoints?: { readonly count: number; readonly bytes: number };
}

export interface SnapshotFigures {
  readonly snapshots: number;
  readonly bytes: number;
  readonly health?: StoreHealth;
}

/** What a disk suffers: it is shared with other models and servers, and it can fail without anybody losing an answer. */
export interface StoreHealth {
  /** What snapshots of other models and settings take of the same limit. */
  readonly otherBytes: number;
  readonly failures: number;
  readonly lastFailure: string | null;
}

/** A prompt that parted from what was kept of its own chat. */
export interface CacheMiss {
  /** When, in milliseconds since 1970. */
  readonly time: number;
  /** The place of the first token that differs. */
  readonly partedAt: number;
  readonly promptTokens: number;
  readonly reusedTokens: number;
  /** What stood there in the kept text, and what the prompt has instead. */
  readonly kept: string;
  readonly wanted: string;
  readonly before: string;
}

/** Of an engine that keeps nothing, or rests. */
export const emptyCacheReport: CacheReport = { slots: [], memory: null, disk: null, misses: [] };
