import type { EngineSource, SourceState } from '../core/engine-source.ts';
import type { TextState } from '../core/text-service.ts';
import type { TextSource } from '../core/text-source.ts';
import { type Arrival, type LoadTimeout, withTimeout } from './arrival.ts';
import type { ModelKinds, TaskEngineKind, TaskEngines } from './kinds.ts';
import type { Held, Registry } from './registry.ts';

interface TextModelFacts {
  readonly name: string;
  /** The expected context size, from the model file. */
  readonly contextSize: number;
  /** The state when the model was last loaded. */
  readonly known: () => TextState | undefined;
}

/** Engine source of a model in the registry. */
export function textSourceOf(
  registry: Registry<ModelKinds>,
  { name, contextSize, known }: TextModelFacts,
  { timeout, arrival }: { readonly timeout?: LoadTimeout | undefined; readonly arrival?: Arrival | undefined } = {},
): TextSource {
  // Until then another model may have the name.
  const isOwn = () => arrival?.begun() ?? true;
  const present = () => (isOwn() ? registry.peek('text', name)?.engine : undefined);
  return {
    use: async (signal) => {
      const { loaded, release } = await withTimeout(name, timeout, signal, async (until) => {
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
      // An unloaded model counts as ready if it was loaded before, because the next request loads it.
      const asleep = entry?.type === 'unloaded' ? { asleep: true } : {};
      return known() ?? { type: 'loading', name, progress: 0, ...asleep };
    },
    contextSize: () => {
      const state = known();
      return present()?.contextSize() ?? (state?.type === 'ready' ? state.model.contextSize : contextSize);
    },
  };
}

interface KeptEngineOptions {
  readonly timeout?: LoadTimeout | undefined;
  /** Models that its users hold while they wait for it. */
  readonly holding?: readonly Held[];
}

/** Engine source of a model in the registry. */
export function engineSourceOf<Kind extends TaskEngineKind>(
  registry: Registry<ModelKinds>,
  kind: Kind,
  name: string,
  { timeout, holding = [] }: KeptEngineOptions = {},
): EngineSource<TaskEngines[Kind]> {
  return {
    name,
    use: async (signal) => {
      const { loaded, release } = await withTimeout(name, timeout, signal, (until) =>
        registry.use(kind, name, until, holding),
      );
      return { engine: loaded.engine as unknown as TaskEngines[Kind], release };
    },
    keepFor: (milliseconds) => registry.keepFor(kind, name, milliseconds),
    expiresAt: () =>
      registry.list().find((one) => one.kind === kind && one.name === name)?.expiresAt ?? Number.POSITIVE_INFINITY,
    peek: () => registry.peek(kind, name)?.engine as unknown as TaskEngines[Kind] | undefined,
    state: (): SourceState => {
      const state = registry.state(kind, name) ?? { type: 'unloaded' };
      return state.type === 'leaving' ? { type: 'unloaded' } : state;
    },
  };
}
