import type { TextEngine, TextState } from './text-service.ts';
import { unlessAborted } from './unless-aborted.ts';

/** An engine that stays loaded until it is released. */
export interface TextUse {
  readonly engine: TextEngine;
  release(): void;
}

/**
 * Provides the engine of a text model. It may have to be loaded first, perhaps after another one is evicted, and stays loaded while
 * it is in use.
 */
export interface TextSource {
  /** Resolves when it is loaded; rejects if it cannot be, or with the reason of the signal. */
  use(signal?: AbortSignal): Promise<TextUse>;
  /** The engine if it is loaded. */
  peek(): TextEngine | undefined;
  /** An unloaded model is reported as ready, because the next request loads it. */
  state(): TextState;
  contextSize(): number;
}

/** A source of one engine that is never unloaded. */
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
