import type { EngineState } from '../host/engine-state.ts';
import type { Backend } from './backend.ts';
import type { Assignment, BackendPool } from './backend-pool.ts';
import { clientError, RemoteFailure } from './failure.ts';
import type { RemoteKind } from './kinds.ts';
import type { RemoteModel } from './probe.ts';

export interface Asked {
  readonly path: string;
  readonly body: object;
}

export interface Facts {
  readonly kind: RemoteKind;
  readonly host: string;
  readonly model: RemoteModel;
}

export interface AskingOptions {
  readonly model: string | undefined;
  /** The same text leads to the same engine. */
  readonly affinity: string;
  readonly signal: AbortSignal;
  readonly milliseconds?: number;
  /** The largest answer that is read. */
  readonly bytes?: number;
}

export interface Answered {
  readonly answer: unknown;
  readonly facts: Facts;
}

/** A question with one answer, to the engine that suits; the next one is asked where that cannot do it now. */
export function askPool(
  pool: BackendPool,
  question: (facts: Facts) => Asked,
  { milliseconds, bytes, ...options }: AskingOptions,
): Promise<Answered> {
  return withBackend(pool, options, async ({ backend, model }) => {
    const facts = { kind: backend.identity?.kind ?? 'openai', host: backend.address.host, model } as const;
    const { path, body } = question(facts);
    const answer = await backend.connection.json('POST', path, body, {
      signal: options.signal,
      ...(milliseconds === undefined ? {} : { milliseconds }),
      ...(bytes === undefined ? {} : { bytes }),
    });
    return { answer, facts };
  });
}

/** Any work on one backend, tried on the next where the first cannot do it now. */
export async function withBackend<Answer>(
  pool: BackendPool,
  { model: name, affinity, signal }: Pick<AskingOptions, 'model' | 'affinity' | 'signal'>,
  work: (assignment: Assignment) => Promise<Answer>,
): Promise<Answer> {
  const tried = new Set<Backend>();
  const excused = new Set<Backend>();
  for (let last: RemoteFailure | undefined; ; ) {
    const assignment = pool.assign(name, affinity, tried);
    if (!assignment) throw last ? clientError(last, pool.capability) : pool.troubleError(name);
    const { backend, done } = assignment;
    try {
      return await work(assignment);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RemoteFailure)) throw clientError(error, pool.capability);
      backend.failed(error);
      if (!error.isPassing) throw error.type === 'failed' ? error : clientError(error, pool.capability);
      last = error;
      if (error.facts.stale && !excused.has(backend)) excused.add(backend);
      else tried.add(backend);
    } finally {
      done();
    }
  }
}

/** Engines elsewhere in the place of a process of ours: there is nothing to load, and nothing that could die here. */
export class TaskLife {
  readonly pid = undefined;
  #settled: Promise<void> | undefined;

  constructor(protected readonly pool: BackendPool) {}

  start(): void {
    this.#settled ??= this.pool.start();
  }

  async stop(): Promise<void> {
    if (this.#settled) this.pool.stop();
    this.#settled = undefined;
  }

  /** Whether they answer is seen by whoever asks them. */
  state(): EngineState {
    return this.#settled ? { type: 'ready' } : { type: 'idle' };
  }

  settled(): Promise<void> {
    return this.#settled ?? Promise.resolve();
  }
}
