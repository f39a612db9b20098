/** How something stands that may be asked for: it may come, be there, or be out of reach. */
export type SourceState =
  | { readonly type: 'unloaded' }
  | { readonly type: 'loading'; readonly progress: number }
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly reason: string };

/** An engine that is there until it is released. */
export interface EngineUse<Engine> {
  readonly engine: Engine;
  release(): void;
}

/** Where an engine of some kind is to be had. It is loaded when somebody needs it, and stays as long as somebody uses it. */
export interface EngineSource<Engine> {
  /** The name of the model that it serves. */
  readonly name: string;
  /** Resolves when it is there; rejects with the reason why it cannot be, or that of the signal. */
  use(signal?: AbortSignal): Promise<EngineUse<Engine>>;
  /** For a look that loads nothing. */
  peek(): Engine | undefined;
  state(): SourceState;
  /** The size of its file and when that last changed, in milliseconds since 1970; undefined where there is none. */
  file?(): { readonly sizeBytes: number; readonly modifiedAt: number } | undefined;
  /** How much may be done at once; what is usual for its kind unless this says otherwise. */
  atOnce?(): number;
  /** How long it stays after its last use, where somebody wants to say so. */
  keepFor?(milliseconds: number): void;
  /** Milliseconds since 1970 when it goes unless it is used again; infinite for never. */
  expiresAt?(): number;
}
