/**
 * What the registry needs to know of anything that it keeps: how to begin and end it, and how it is. An engine that
 * loses its process and gets it back by itself is `loading` meanwhile.
 */
export interface Lifecycle {
  start(): void;
  /** Ends it and resolves when all that it held is given back. */
  stop(): Promise<void>;
  state(): LifecycleState;
  /** Resolves when the state is no longer `loading`. */
  settled(): Promise<void>;
  /** What it really takes, once that is known. */
  bytes?(): number | undefined;
}

export type LifecycleState =
  | { readonly type: 'loading'; readonly progress: number }
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly reason: string };

/** How something stands under its name, whether it is in memory or not. */
export type EntryState =
  | { readonly type: 'unloaded' }
  | { readonly type: 'loading'; readonly progress: number }
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly reason: string }
  /** It ends its work and goes; whoever wants it meanwhile waits for it to come back. */
  | { readonly type: 'leaving' };

/** How something that has a name is made. Kinds differ in what comes of it, not in how they are kept. */
export interface ModelSpec<Kind extends string, Loaded extends Lifecycle> {
  readonly name: string;
  readonly kind: Kind;
  /** Never makes room for another one. */
  readonly pinned?: boolean;
  /** Small, and no model of its own to those who count them (`--maxmodels`). */
  readonly besides?: boolean;
  /** How long it stays after its last use at most, where nobody says otherwise. */
  readonly keepMs?: number;
  /** What it will take, as far as its file tells. Throws one clear sentence for a file that cannot be read. */
  need(): Promise<number>;
  make(): Loaded;
}

/** Something is in use until it is released; as long as that it stays. */
export interface Use<Loaded> {
  readonly name: string;
  readonly loaded: Loaded;
  /** May be called again without harm. */
  release(): void;
}

export type UnloadReason = 'idle' | 'asked' | 'room' | 'replaced';

/** What is known of one entry. */
export interface Listed {
  readonly name: string;
  readonly kind: string;
  readonly state: EntryState;
  /** Whether it takes memory now. */
  readonly resident: boolean;
  readonly inUse: number;
  readonly bytes: number | undefined;
  /** Milliseconds since 1970 when it goes unless it is used again; infinite for never. */
  readonly expiresAt: number;
}
