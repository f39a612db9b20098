import type { EngineSource, SourceState } from '../core/engine-source.ts';
import type { Held, Registry } from '../registry/registry.ts';
import { inTime, type Patience } from './in-time.ts';
import type { ModelKinds, OtherEngines, OtherKind } from './kinds.ts';

export interface KeptEngineOptions {
  readonly patience?: Patience | undefined;
  /** What its users keep in memory while they wait for it. */
  readonly holding?: readonly Held[];
}

/** A model of the registry as the place where its engine is to be had. */
export function keptEngine<Kind extends OtherKind>(
  registry: Registry<ModelKinds>,
  kind: Kind,
  name: string,
  { patience, holding = [] }: KeptEngineOptions = {},
): EngineSource<OtherEngines[Kind]> {
  return {
    name,
    use: async (signal) => {
      const { loaded, release } = await inTime(name, patience, signal, (until) =>
        registry.use(kind, name, until, holding),
      );
      return { engine: loaded.engine as unknown as OtherEngines[Kind], release };
    },
    keepFor: (milliseconds) => registry.keepFor(kind, name, milliseconds),
    expiresAt: () =>
      registry.list().find((one) => one.kind === kind && one.name === name)?.expiresAt ?? Number.POSITIVE_INFINITY,
    peek: () => registry.peek(kind, name)?.engine as unknown as OtherEngines[Kind] | undefined,
    state: (): SourceState => {
      const state = registry.state(kind, name) ?? { type: 'unloaded' };
      return state.type === 'leaving' ? { type: 'unloaded' } : state;
    },
  };
}
