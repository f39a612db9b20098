import { linkAbort, unlessAborted } from '../core/abort.ts';
import type { EngineSource, SourceState } from '../core/engine-source.ts';
import { AppError } from '../core/errors.ts';
import type { TextSource, TextState } from '../core/text-service.ts';
import type { StartTimer } from '../core/timers.ts';
import type { EngineLifecycle, HostedEngine, ModelSpec } from './lifecycle.ts';
import type { Registry } from './registry.ts';
import type { TextEngineProcess } from './text-engine.ts';

interface SourceOptions {
  readonly timeout?: LoadTimeout | undefined;
  /** Set during a swap: until the old model is removed, the entry of this name is the old one. */
  readonly arrival?: Arrival | undefined;
  /** A load fails where a model would have to leave that has running requests. */
  readonly sparesBusy?: boolean;
}

/** Engine source of a model in the registry. */
export function engineSourceOf<Engine extends HostedEngine>(
  registry: Registry,
  { kind, name }: Pick<ModelSpec<EngineLifecycle<Engine>>, 'kind' | 'name' | 'make'>,
  { timeout, arrival, sparesBusy = false }: SourceOptions = {},
): EngineSource<Engine> {
  const isOwn = () => arrival?.begun() ?? true;
  // Entries of this name are made by this spec, or by an equal one.
  const engineOf = (lifecycle: unknown) => (lifecycle as EngineLifecycle<Engine>).engine;
  return {
    name,
    use: async (signal, expected) => {
      const { lifecycle, release } = await withTimeout(name, timeout, signal, async (until) => {
        await arrival?.over(until);
        return registry.use(kind, name, until, { sparesBusy, expected });
      });
      return { engine: engineOf(lifecycle), release };
    },
    expect: () => registry.expect(kind, name),
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

/** A part of the engine of another source. */
export function pickedSource<Whole, Engine>(
  source: EngineSource<Whole>,
  pick: (engine: Whole) => Engine,
): EngineSource<Engine> {
  return {
    ...source,
    use: async (signal, expected) => {
      const { engine, release } = await source.use(signal, expected);
      try {
        return { engine: pick(engine), release };
      } catch (error) {
        release();
        throw error;
      }
    },
    peek: () => {
      const engine = source.peek();
      // One that is being loaded may not be able to do it.
      return engine && source.state().type === 'ready' ? pickOrNothing(engine, pick) : undefined;
    },
  };
}

function pickOrNothing<Whole, Engine>(engine: Whole, pick: (engine: Whole) => Engine): Engine | undefined {
  try {
    return pick(engine);
  } catch {
    return undefined;
  }
}

export interface TextModelFacts {
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

/** A swap, as the requests for the new model see it. */
export type Arrival = Pick<Arriving, 'begun' | 'over'>;

export class Arriving {
  #begun = false;
  #settle: (error: AppError | undefined) => void = () => undefined;
  readonly #ended: Promise<AppError | undefined>;

  constructor(
    private readonly name: string,
    private readonly timeout?: LoadTimeout,
  ) {
    this.#ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Whether the old model is removed, so that the registry entry of this name is the new model. */
  begun(): boolean {
    return this.#begun;
  }

  /** Resolves when the new model is loaded; rejects if it cannot be, or with the reason of the signal. */
  async over(signal: AbortSignal | undefined): Promise<void> {
    const error = await withTimeout(this.name, this.timeout, signal, (until) => unlessAborted(this.#ended, until));
    if (error) throw error;
  }

  begin(): void {
    this.#begun = true;
  }

  end(error?: AppError): void {
    this.#settle(error);
  }
}

/** Limits how long a request waits for its model. The load goes on for later requests. */
export interface LoadTimeout {
  readonly seconds: number;
  readonly startTimer: StartTimer;
}

/** Runs the work with a signal that also aborts after the time-out. */
export async function withTimeout<Value>(
  model: string,
  timeout: LoadTimeout | undefined,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | undefined) => Promise<Value>,
): Promise<Value> {
  if (!timeout) return work(signal);
  const { seconds, startTimer } = timeout;
  const late = new AbortController();
  const timer = startTimer(seconds * 1000, () => late.abort(new AppError('model-late', { model, seconds })));
  const link = linkAbort(late, signal);
  try {
    return await work(late.signal);
  } finally {
    link.release();
    timer.cancel();
  }
}
