/**
 * What the registry needs to know of an engine: how to start and stop it, and its state. An engine that restarts after a
 * crash is `loading` meanwhile.
 */
export interface Lifecycle {
  start(): void;
  /** Resolves when its process has ended and its memory is free. */
  stop(): Promise<void>;
  state(): LifecycleState;
  /** Resolves when the state is no longer `loading`. */
  settled(): Promise<void>;
  /** Memory in use, once it is known. */
  bytes?(): number | undefined;
}

export type LifecycleState =
  | { readonly type: 'loading'; readonly progress: number }
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly reason: string };

/** State of a registry entry, loaded or not. */
export type EntryState =
  | { readonly type: 'unloaded' }
  | { readonly type: 'loading'; readonly progress: number }
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly reason: string }
  /** Finishes its requests and is unloaded; new requests wait until it is loaded again. */
  | { readonly type: 'leaving' };

/** How to load a model: its kind, its name, its memory, its engine. */
export interface ModelSpec<Loaded extends Lifecycle = Lifecycle> {
  readonly name: string;
  readonly kind: string;
  /** Never evicted. */
  readonly pinned?: boolean;
  /** Small: does not count against `--maxmodels`. */
  readonly auxiliary?: boolean;
  /** Longest time that it stays loaded after its last use, unless a client sets another. */
  readonly keepMs?: number;
  /** Expected memory in bytes, from the model file. Throws if the file cannot be read. */
  need(): Promise<number>;
  make(): Loaded;
}

/** A loaded model. It is not unloaded before it is released. */
export interface Use {
  readonly name: string;
  readonly lifecycle: Lifecycle;
  /** Idempotent. */
  release(): void;
}

export type UnloadReason = 'idle' | 'asked' | 'room' | 'replaced';

/** One entry as `list` reports it. */
export interface Listed {
  readonly name: string;
  readonly kind: string;
  readonly state: EntryState;
  /** Whether it uses memory now. */
  readonly resident: boolean;
  readonly inUse: number;
  readonly bytes: number | undefined;
  /** Milliseconds since 1970 when it is unloaded unless it is used again; infinite for never. */
  readonly expiresAt: number;
}
