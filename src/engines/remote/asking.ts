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
  /** Requests with the same key prefer the same backend. */
  readonly affinity: string;
  readonly signal: AbortSignal;
  readonly milliseconds?: number;
  /** Maximum size of the response. */
  readonly bytes?: number;
}

export interface Answered {
  readonly answer: unknown;
  readonly facts: Facts;
}

/** Sends a request with a JSON response to the best backend; retries on the next if that one is not available. */
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

/** Runs work on one backend; retries on the next if that one is not available. */
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

/** Lifecycle of a remote engine: there is no process to start, load or restart. */
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

  /** Backends that are down fail the request, not the engine. */
  state(): EngineState {
    return this.#settled ? { type: 'ready' } : { type: 'idle' };
  }

  settled(): Promise<void> {
    return this.#settled ?? Promise.resolve();
  }
}
