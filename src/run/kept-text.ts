import type { TextState } from '../core/text-service.ts';
import type { TextSource } from '../core/text-source.ts';
import type { Registry } from '../registry/registry.ts';
import type { Arrival } from './arriving.ts';
import { inTime, type Patience } from './in-time.ts';
import type { ModelKinds } from './kinds.ts';
import type { PreparedModel } from './prepared-model.ts';

/** A model of the registry as the place where its engine is to be had. */
export function keptText(
  registry: Registry<ModelKinds>,
  { name, contextSize, known }: Pick<PreparedModel, 'name' | 'contextSize' | 'known'>,
  { patience, arrival }: { readonly patience?: Patience | undefined; readonly arrival?: Arrival | undefined } = {},
): TextSource {
  // Until then another one may have the name.
  const isOwn = () => arrival?.begun() ?? true;
  const present = () => (isOwn() ? registry.peek('text', name)?.engine : undefined);
  return {
    use: async (signal) => {
      const { loaded, release } = await inTime(name, patience, signal, async (until) => {
        await arrival?.over(until);
        return registry.use('text', name, until);
      });
      return { engine: loaded.engine, release };
    },
    peek: present,
    state: (): TextState => {
      const engine = present();
      if (engine) return engine.state();
      const entry = isOwn() ? registry.state('text', name) : undefined;
      if (entry?.type === 'failed') return { type: 'failed', name, reason: entry.reason };
      // One that was let go is as good as there; one that was never loaded comes when it is asked for.
      const asleep = entry?.type === 'unloaded' ? { asleep: true } : {};
      return known() ?? { type: 'loading', name, progress: 0, ...asleep };
    },
    contextSize: () => {
      const state = known();
      return present()?.contextSize() ?? (state?.type === 'ready' ? state.model.contextSize : contextSize);
    },
  };
}
