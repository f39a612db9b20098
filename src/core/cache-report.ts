/** State of the prompt cache, and recent misses. */
export interface CacheReport {
  readonly slots: readonly SlotFigures[];
  readonly memory: SnapshotFigures | null;
  readonly disk: SnapshotFigures | null;
  /** The newest last. */
  readonly misses: readonly CacheMiss[];
}

interface SlotFigures {
  readonly tokens: number;
  readonly busy: boolean;
  /** Only for models whose memory cannot be cut at any token. */
  readonly checkpoints?: { readonly count: number; readonly bytes: number };
}

export interface SnapshotFigures {
  readonly snapshots: number;
  readonly bytes: number;
  readonly health?: StoreHealth;
}

/** Health of the disk cache, which is shared with other models and servers. Its failures affect no reply. */
export interface StoreHealth {
  /** Bytes of snapshots of other models and settings. */
  readonly otherBytes: number;
  readonly failures: number;
  readonly lastFailure: string | null;
}

/** A prompt that differs from the cached text of its chat. */
export interface CacheMiss {
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Position of the first token that differs. */
  readonly partedAt: number;
  readonly promptTokens: number;
  readonly reusedTokens: number;
  /** The cached text at that position, and that of the prompt. */
  readonly kept: string;
  readonly wanted: string;
  readonly before: string;
}

/** For engines without a cache, or that are not loaded. */
export const emptyCacheReport: CacheReport = { slots: [], memory: null, disk: null, misses: [] };
