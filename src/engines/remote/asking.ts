import { clientError, RemoteFailure } from './failure.ts';
import type { Assignment, Fleet } from './fleet.ts';
import type { RemoteKind } from './kinds.ts';
import type { RemoteModel } from './probe.ts';
import type { Replica } from './replica.ts';

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
export function askFleet(
  fleet: Fleet,
  question: (facts: Facts) => Asked,
  { milliseconds, bytes, ...options }: AskingOptions,
): Promise<Answered> {
  return askReplica(fleet, options, async ({ replica, model }) => {
    const facts = { kind: replica.identity?.kind ?? 'openai', host: replica.address.host, model } as const;
    const { path, body } = question(facts);
    const answer = await replica.connection.json('POST', path, body, {
      signal: options.signal,
      ...(milliseconds === undefined ? {} : { milliseconds }),
      ...(bytes === undefined ? {} : { bytes }),
    });
    return { answer, facts };
  });
}

/** Any work on one backend, tried on the next where the first cannot do it now. */
export async function askReplica<Answer>(
  fleet: Fleet,
  { model: name, affinity, signal }: Pick<AskingOptions, 'model' | 'affinity' | 'signal'>,
  work: (assignment: Assignment) => Promise<Answer>,
): Promise<Answer> {
  const tried = new Set<Replica>();
  const excused = new Set<Replica>();
  for (let last: RemoteFailure | undefined; ; ) {
    const assignment = fleet.assign(name, affinity, tried);
    if (!assignment) throw last ? clientError(last, fleet.capability) : fleet.troubleError(name);
    const { replica, done } = assignment;
    try {
      return await work(assignment);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RemoteFailure)) throw clientError(error, fleet.capability);
      replica.failed(error);
      if (!error.isPassing) throw error.type === 'failed' ? error : clientError(error, fleet.capability);
      last = error;
      if (error.facts.stale && !excused.has(replica)) excused.add(replica);
      else tried.add(replica);
    } finally {
      done();
    }
  }
}
