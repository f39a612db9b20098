import { type AbortCause, unlessAborted } from '../core/abort.ts';
import { Channel } from '../core/channel.ts';
import type { EngineSource } from '../core/engine-source.ts';
import { AppError } from '../core/errors.ts';
import type { RequestContext } from '../core/request-context.ts';
import { Latch } from '../core/synchronization.ts';
import type { Job } from './jobs.ts';
import type { WorkKind } from './queue.ts';
import { queued, type RequestQueue } from './request-queue.ts';

export interface TaskDeps<Engine, Source extends EngineSource<Engine> = EngineSource<Engine>> {
  readonly requestQueue: RequestQueue;
  readonly work: WorkKind;
  readonly source: Source;
  readonly observer?: TaskObserver;
}

/** Observer callbacks for the console and the metrics. Must not throw or block. */
export interface TaskObserver {
  /** It may begin, after this many milliseconds in the queue. */
  dequeued?(waited: number): void;
  begun?(job: TaskJob): void;
  /** Once for each task that has begun; with the error if it failed, `stopped` if it was aborted. */
  ended?(job: TaskJob, milliseconds: number, error: AppError | undefined): void;
}

type TaskJob = Pick<Job, 'number' | 'kind' | 'genkey' | 'requestId' | 'isBackground'>;

/** The lane of one engine. No name of a text model begins with a zero character. */
export function laneOf({ name }: WorkKind, model: string): string {
  return `\u0000task ${name} ${model}`;
}

/** The context of a running task. */
export interface TaskRun<Engine> {
  readonly engine: Engine;
  /** How long the engine took to load. */
  readonly loadMs: number;
  /** Aborts when the task is aborted or its client disconnects. */
  readonly signal: AbortSignal;
  /** Sets the output so far, which a poll by its key returns. */
  wrote(text: string): void;
}

/** The turn of a task. */
interface TaskTurn<Engine> {
  /** Aborts when the task is aborted or its client disconnects. */
  readonly signal: AbortSignal;
  /** The engine, loaded by the first call and kept until the task ends. The task counts as begun from then on. */
  begin(): Promise<TaskRun<Engine>>;
}

interface StreamOptions {
  /** Backpressure: the next event is pulled only when the reader has taken the last one, so a slow reader buffers nothing here. */
  readonly paced?: boolean;
}

type Item<Event> = { readonly event: Event } | { readonly error: unknown };

/** Tasks of one kind for one engine. A task is admitted or refused at once; it can be polled and aborted by its key. */
export function tasks<Engine>({ requestQueue, work: kind, source, observer = {} }: TaskDeps<Engine>) {
  const lane = laneOf(kind, source.name);

  function stream<Event>(
    context: RequestContext,
    work: (run: TaskRun<Engine>) => AsyncIterable<Event>,
    options: StreamOptions = {},
  ): AsyncIterable<Event> {
    return inTurn(
      context,
      async function* ({ begin }) {
        yield* work(await begin());
      },
      options,
    );
  }

  /** For tasks that need the engine later, or not at all. */
  function inTurn<Event>(
    context: RequestContext,
    work: (turn: TaskTurn<Engine>) => AsyncIterable<Event>,
    { paced = false }: StreamOptions = {},
  ): AsyncIterable<Event> {
    const stop = new AbortController();
    const { admission, job, done } = requestQueue.admit(context, {
      work: kind,
      lane,
      onTurn: observer.dequeued,
      abort: (_, by) => stop.abort(context.signal.aborted ? context.signal.reason : stopError(by)),
    });
    context.onQueued?.(() => queued(admission.position()));
    const { signal } = stop;
    const { watch, giveWay } = context;
    const items = new Channel<Item<Event>>(() => job.abort('unread'));
    /** Released when the reader asks for the next item. */
    const taken = paced ? new Latch() : undefined;
    void execute().finally(() => {
      done();
      items.end();
    });
    return unpacked(items, taken);

    /** Never rejects: an error is the last item. */
    async function execute(): Promise<void> {
      let begunAt: number | undefined;
      let error: unknown;
      let release = (): void => {};
      const expected = source.expect?.();
      const useEngine = async (): Promise<TaskRun<Engine>> => {
        const requestedAt = requestQueue.now();
        const use = await requestQueue.loadTimed(source.use(signal, expected), kind.name, source.name, watch);
        release = use.release;
        signal.throwIfAborted();
        begunAt = requestQueue.now();
        job.state = 'running';
        observer.begun?.(job);
        watch?.taskBegun?.(kind.name);
        return {
          engine: use.engine,
          loadMs: begunAt - requestedAt,
          signal,
          wrote: (text) => {
            job.text = text;
          },
        };
      };
      let run: Promise<TaskRun<Engine>> | undefined;
      try {
        await unlessAborted(admission.turn, signal);
        // In the middle of other work no model is loaded for it.
        if (admission.isShare() && !source.peek()) giveWay?.();
        signal.throwIfAborted();
        const turn: TaskTurn<Engine> = {
          signal,
          begin: () => {
            run ??= useEngine();
            return run;
          },
        };
        for await (const event of work(turn)) {
          items.push({ event });
          if (taken) await unlessAborted(taken.wait(), signal);
        }
        signal.throwIfAborted();
      } catch (thrown) {
        error = thrown;
        items.push({ error: thrown });
      } finally {
        // An engine that is still being loaded is released when it is loaded.
        await run?.catch(() => undefined);
        expected?.end();
        release();
      }
      if (begunAt === undefined) return;
      requestQueue.finished(kind.name, error === undefined);
      const failure = error === undefined || error instanceof AppError ? error : new AppError('stopped', {});
      const milliseconds = requestQueue.now() - begunAt;
      observer.ended?.(job, milliseconds, failure);
      watch?.taskEnded?.(kind.name, failure, milliseconds);
    }
  }

  return {
    stream,
    inTurn,
    /** For tasks with one result. */
    async once<Result>(context: RequestContext, work: (run: TaskRun<Engine>) => Promise<Result>): Promise<Result> {
      const results = stream(context, async function* (run) {
        yield await work(run);
      });
      // Read to the end: closing the stream early would abort the task.
      const all: Result[] = [];
      for await (const result of results) all.push(result);
      return all[0] as Result;
    },
  };
}

function stopError(by: AbortCause): AppError {
  return new AppError(by === 'shutdown' ? 'stopping' : 'stopped', {});
}

async function* unpacked<Event>(items: Channel<Item<Event>>, taken: Latch | undefined): AsyncGenerator<Event> {
  for await (const item of items) {
    if ('error' in item) throw item.error;
    yield item.event;
    taken?.release();
  }
}
