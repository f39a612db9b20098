import type { EngineSource } from './engine-source.ts';
import type { TextEngine, TextState } from './text-service.ts';
import { unlessAborted } from './unless-aborted.ts';

/** Provides the engine of a text model. */
export interface TextSource extends Pick<EngineSource<TextEngine>, 'use' | 'peek' | 'keepFor' | 'expiresAt'> {
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
