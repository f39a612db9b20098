import type { EngineSource, SourceState } from '../core/engine-source.ts';
import type { TextState } from '../core/text-service.ts';
import type { TextSource } from '../core/text-source.ts';
import { type Arrival, type LoadTimeout, withTimeout } from './arrival.ts';
import type { EngineLifecycle, HostedEngine } from './engine-lifecycle.ts';
import type { ModelSpec } from './lifecycle.ts';
import type { Registry } from './registry.ts';
import type { TextEngineProcess } from './text-engine.ts';

interface SourceOptions {
  readonly timeout?: LoadTimeout | undefined;
  /** Set during a swap: until the old model is removed, the entry of this name is the old one. */
  readonly arrival?: Arrival | undefined;
}

/** Engine source of a model in the registry. */
export function engineSourceOf<Engine extends HostedEngine>(
  registry: Registry,
  { kind, name }: Pick<ModelSpec<EngineLifecycle<Engine>>, 'kind' | 'name' | 'make'>,
  { timeout, arrival }: SourceOptions = {},
): EngineSource<Engine> {
  const isOwn = () => arrival?.begun() ?? true;
  // Entries of this name are made by this spec, or by an equal one.
  const engineOf = (lifecycle: unknown) => (lifecycle as EngineLifecycle<Engine>).engine;
  return {
    name,
    use: async (signal) => {
      const { lifecycle, release } = await withTimeout(name, timeout, signal, async (until) => {
        await arrival?.over(until);
        return registry.use(kind, name, until);
      });
      return { engine: engineOf(lifecycle), release };
    },
    keepFor: (milliseconds) => registry.keepFor(kind, name, milliseconds),
    expiresAt: () => registry.expiresAt(kind, name),
    peek: () => {
      const lifecycle = isOwn() ? registry.peek(kind, name) : undefined;
      return lifecycle && engineOf(lifecycle);
    },
    state: (): SourceState => {
      const state = (isOwn() ? registry.state(kind, name) : undefined) ?? { type: 'unloaded' };
      return state.type === 'leaving' ? { type: 'unloaded' } : state;
    },
  };
}

interface TextModelFacts {
  readonly spec: ModelSpec<EngineLifecycle<TextEngineProcess>>;
  /** The expected context size, from the model file. */
  readonly contextSize: number;
  /** The state when the model was last loaded. */
  readonly known: () => TextState | undefined;
}

/** The same for a text model, which has facts before it is loaded. */
export function textSourceOf(
  registry: Registry,
  { spec, contextSize, known }: TextModelFacts,
  options: SourceOptions = {},
): TextSource {
  const { name } = spec;
  const source = engineSourceOf(registry, spec, options);
  return {
    ...source,
    state: (): TextState => {
      const engine = source.peek();
      if (engine) return engine.state();
      const entry = options.arrival?.begun() === false ? undefined : registry.state('text', name);
      if (entry?.type === 'failed') return { type: 'failed', name, reason: entry.reason };
      // An unloaded model counts as ready if it was loaded before, because the next request loads it.
      const asleep = entry?.type === 'unloaded' ? { asleep: true } : {};
      return known() ?? { type: 'loading', name, progress: 0, ...asleep };
    },
    contextSize: () => {
      const state = known();
      return source.peek()?.contextSize() ?? (state?.type === 'ready' ? state.model.contextSize : contextSize);
    },
  };
}
