import type { TextEngine, TextState } from './text-service.ts';
import { unlessAborted } from './unless-aborted.ts';

/** An engine that is there until it is released. */
export interface TextUse {
  readonly engine: TextEngine;
  release(): void;
}

/**
 * Where the engine of a model is to be had. It may have to be loaded first, perhaps in place of another one, and it stays as
 * long as somebody uses it.
 */
export interface TextSource {
  /** Resolves when it is there; rejects with the reason why it cannot be, or that of the signal. */
  use(signal?: AbortSignal): Promise<TextUse>;
  /** For a look that loads nothing. */
  peek(): TextEngine | undefined;
  /** A model that was let go is as ready as before: whoever wants it gets it. */
  state(): TextState;
  contextSize(): number;
}

/** One engine for life. */
export function alwaysThere(engine: TextEngine): TextSource {
  return {
    use: async (signal) => {
      await unlessAborted(engine.settled(), signal);
      return { engine, release: () => undefined };
    },
    peek: () => engine,
    state: () => engine.state(),
    contextSize: () => engine.contextSize(),
  };
}
