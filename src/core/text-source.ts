import type { EngineSource } from './engine-source.ts';
import type { TextEngine } from './text-service.ts';
import { unlessAborted } from './unless-aborted.ts';

/**
 * Provides the engine of a text model. Its state differs from that of other engines: an unloaded model is reported as ready,
 * because the next request loads it.
 */
export interface TextSource
  extends Pick<EngineSource<TextEngine>, 'use' | 'expect' | 'peek' | 'keepFor' | 'expiresAt'>,
    Pick<TextEngine, 'state' | 'contextSize'> {}

export function fixedTextSource(engine: TextEngine): TextSource {
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
