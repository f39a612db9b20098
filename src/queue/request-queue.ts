import type { AbortCause } from '../core/abort.ts';
import type { QueuePosition, QueueStatus } from '../core/request.ts';
import type { RequestContext } from '../core/request-context.ts';
import type { RequestObserver } from '../core/request-observer.ts';
import type { TextState } from '../core/text-service.ts';
import { type Job, Jobs } from './jobs.ts';
import { PerformanceLog } from './performance.ts';
import type { Admission, Queue, WorkKind } from './queue.ts';

interface EnterOptions {
  readonly work: WorkKind;
  readonly lane: string;
  /** It needs the engine for itself. */
  readonly alone?: boolean;
  /** Called when it may begin, with the milliseconds that it waited. */
  readonly onTurn?: ((waited: number) => void) | undefined;
}

/** Shared by all engines: admission and order, requests by key, and the figures of the last requests. */
export class RequestQueue {
  readonly jobs: Jobs;
  readonly log: PerformanceLog;
  #number = 0;
  readonly #finished = new Map<string, Finished>();

  constructor(
    readonly queue: Queue,
    /** Milliseconds of a monotonic clock. */
    readonly now: () => number,
    { separateClients = false }: { readonly separateClients?: boolean } = {},
  ) {
    this.jobs = new Jobs(separateClients);
    this.log = new PerformanceLog(now);
  }

  /** Takes a place in the queue, or throws `busy`. */
  enter(context: RequestContext, { work, lane, alone = false, onTurn }: EnterOptions): Admission {
    const { client, genkey, part = genkey, rank, weight, admitted, giveWay } = context;
    const enteredAt = this.now();
    const admission = this.queue.enter({ client, part, kind: work, lane, alone, rank, weight, admitted, giveWay });
    const { watch } = context;
    watch?.queued?.(work.name);
    let isPresent = true;
    admission.turn.then(
      () => {
        const waited = this.now() - enteredAt;
        onTurn?.(waited);
        if (isPresent) watch?.dequeued?.(waited);
      },
      () => undefined,
    );
    return {
      ...admission,
      // Another one after `again`.
      get turn() {
        return admission.turn;
      },
      leave: () => {
        admission.leave();
        if (isPresent) watch?.left?.();
        isPresent = false;
      },
    };
  }

  /** Admits a request, or throws `busy`. `abort` is called when the client disconnects, aborts it, or stops reading. */
  admit(
    context: RequestContext,
    { abort, ...options }: EnterOptions & { readonly abort: (job: Job, by: AbortCause) => void },
  ) {
    const { client, genkey, signal, requestId } = context;
    const admission = this.enter(context, options);
    this.#number += 1;
    const job: Job = {
      genkey,
      client,
      number: this.#number,
      kind: options.work.name,
      requestId,
      shared: !options.alone,
      isBackground: context.giveWay !== undefined,
      state: 'waiting',
      kept: context.survivesDisconnect ?? false,
      text: '',
      logprobs: [],
      position: admission.position,
      abort: (by) => abort(job, by),
    };
    this.jobs.add(job);
    const onAbort = () => job.abort('client-gone');
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    return {
      admission,
      job,
      /** Leaves the queue. The job can still be polled by its key. */
      done: (): void => {
        job.state = 'done';
        // It is remembered for its text: not together with its model, which may have been swapped out.
        job.abort = () => undefined;
        job.position = () => undefined;
        signal.removeEventListener('abort', onAbort);
        admission.leave();
      },
    };
  }

  /** Tells the watch how long an engine took to load, or why it did not. */
  async loadTimed<Use>(
    use: Promise<Use>,
    kind: string,
    model: string,
    watch: RequestObserver | undefined,
  ): Promise<Use> {
    const requestedAt = this.now();
    const report = (error?: unknown) => watch?.engineReady?.(kind, model, this.now() - requestedAt, error);
    use.then(() => report(), report);
    return use;
  }

  /** For the end of the server: requests that wait, and new ones, get the error `stopping`. */
  close(): void {
    this.queue.close();
  }

  /** Ends the requests that run with the error `stopping`. */
  stopAll(): void {
    for (const job of this.jobs.active()) job.abort('shutdown');
  }

  /** Counts a finished task. Texts are counted by the log. */
  finished(kind: string, well: boolean): void {
    const { done, failed } = this.count(kind);
    this.#finished.set(kind, well ? { done: done + 1, failed } : { done, failed: failed + 1 });
  }

  count(kind: string): Finished {
    return this.#finished.get(kind) ?? { done: 0, failed: 0 };
  }
}

interface Finished {
  readonly done: number;
  /** Including aborted ones. */
  readonly failed: number;
}

/** Undefined unless it waits for its turn. */
export function queued(position: QueuePosition | undefined): QueueStatus | undefined {
  return position && { type: 'queued', ...position };
}

/** A model that is unloaded or failed before has not begun to load: progress 0. */
export function loading(state: TextState): QueueStatus | undefined {
  if (state.type === 'none') return undefined;
  return { type: 'loading', model: modelName(state), progress: state.type === 'loading' ? state.progress : 0 };
}

export function modelName(state: TextState): string {
  if (state.type === 'none') return '';
  return state.type === 'ready' ? state.model.name : state.name;
}
