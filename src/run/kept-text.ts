import type { TextState } from '../core/text-service.ts';
import type { TextSource } from '../core/text-source.ts';
import type { Registry } from '../registry/registry.ts';
import type { PreparedModel } from './prepared-model.ts';
import type { TextLife } from './text-life.ts';

export type TextKinds = { readonly text: TextLife };

/** A model of the registry as the place where its engine is to be had. */
export function keptText(registry: Registry<TextKinds>, { name, contextSize, known }: PreparedModel): TextSource {
  const present = () => registry.peek('text', name)?.engine;
  return {
    use: async (signal) => {
      const { loaded, release } = await registry.use('text', name, signal);
      return { engine: loaded.engine, release };
    },
    peek: present,
    state: (): TextState => {
      const engine = present();
      if (engine) return engine.state();
      const entry = registry.state('text', name);
      if (entry?.type === 'failed') return { type: 'failed', name, reason: entry.reason };
      // One that was let go is as good as there; one that was never loaded comes when it is asked for.
      return known() ?? { type: 'loading', name, progress: 0 };
    },
    contextSize: () => {
      const state = known();
      return present()?.contextSize() ?? (state?.type === 'ready' ? state.model.contextSize : contextSize());
    },
  };
}
