/** State of an engine that may have to be loaded. */
export type SourceState =
  | { readonly type: 'unloaded' }
  | { readonly type: 'loading'; readonly progress: number }
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly reason: string };

/** An engine that stays loaded until it is released. */
export interface EngineUse<Engine> {
  readonly engine: Engine;
  release(): void;
}

/** A request that is queued for an engine, which is not idle therefore. */
export interface Expectation {
  /** It uses the engine, or does not need it any more. Idempotent. */
  end(): void;
}

/** Provides an engine. It is loaded on demand, and stays loaded while it is in use. */
export interface EngineSource<Engine> {
  readonly name: string;
  /** Resolves when it is loaded; rejects if it cannot be, or with the reason of the signal. */
  use(signal?: AbortSignal, expected?: Expectation): Promise<EngineUse<Engine>>;
  /** A request is queued for it, and will use it. */
  expect?(): Expectation | undefined;
  peek(): Engine | undefined;
  state(): SourceState;
  /** Whether no flag names it. */
  readonly builtIn?: boolean;
  /** The size of its file and when that last changed, in milliseconds since 1970; undefined where there is none. */
  file?(): { readonly sizeBytes: number; readonly modifiedAt: number; readonly architecture?: string } | undefined;
  /** How many tasks may run at once; by default that of its kind. */
  concurrency?(): number;
  /** False while a pack that its engine needs is not installed. */
  available?(): boolean;
  /** Sets how long it stays loaded after its last use. */
  keepFor?(milliseconds: number): void;
  /** Milliseconds since 1970 when it is unloaded unless it is used again; infinite for never. */
  expiresAt?(): number;
}
