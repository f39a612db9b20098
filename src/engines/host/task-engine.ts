import { createHash } from 'node:crypto';
import { Channel } from '../../core/channel.ts';
import { AppError, type PlainError, reviveError } from '../../core/errors.ts';
import type { Attachments } from './channel.ts';
import type { ChildExit } from './child.ts';
import { EngineHost, type EngineObserver, EngineProcess, type EngineProcessDeps } from './engine-process.ts';
import type { EngineState } from './engine-state.ts';
import { fingerprint } from './in-flight.ts';
import { attached, byteLength, closingMs, detached, type TaskMessage, type ToTaskWorker } from './task-messages.ts';

type SharedDeps = 'capability' | 'entry' | 'spawn' | 'startTimer' | 'proven' | 'loadReason';

export interface TaskEngineDeps<Options, Facts> extends Pick<EngineProcessDeps<never, never, never>, SharedDeps> {
  readonly options: Options;
  /** Options for another start after this exit; undefined to count a failure. */
  readonly startsOver?: (exit: ChildExit, options: Options) => Options | undefined;
  readonly observer?: EngineObserver<Facts>;
}

/** An event, and how many bytes it has. */
type Item<Event> = { readonly event: Event; readonly bytes: number } | { readonly error: unknown } | 'ended';

/** An engine that does tasks: each starts with a message, sends events, and ends. Every engine but the text engine is one. */
export class TaskEngine<Options, Facts, Task, Event> extends EngineHost {
  protected readonly process: EngineProcess<ToTaskWorker<Options, Task>, TaskMessage<Event>, Facts>;
  readonly #running = new Map<number, (item: Item<Event>) => void>();
  #facts: Facts | undefined;
  #options: Options;

  constructor(private readonly deps: TaskEngineDeps<Options, Facts>) {
    super();
    this.#options = deps.options;
    this.process = new EngineProcess({
      ...deps,
      closingMs,
      opening: () => ({ type: 'load', options: this.#options }),
      loaded: (facts) => {
        this.#facts = facts;
      },
      receive: (message, attachments) => this.#receive(message, attachments),
      startsOver: (exit) => {
        const next = deps.startsOver?.(exit, this.#options);
        if (next !== undefined) this.#options = next;
        return next !== undefined;
      },
    });
  }

  state(): EngineState {
    return this.process.state();
  }

  facts(): Facts | undefined {
    return this.#facts;
  }

  /** Starts as soon as the engine is ready. It is aborted by the signal, and when its events are not read any more. */
  run(task: Task, signal: AbortSignal): AsyncIterable<Event> {
    // A refused task ends before `work` is assigned.
    let work: { abort(): void } | undefined;
    let id: number | undefined;
    const stop = (): void => work?.abort();
    const items = new Channel<Item<Event>>(stop);
    signal.addEventListener('abort', stop, { once: true });
    const end = (last: Item<Event>): void => {
      signal.removeEventListener('abort', stop);
      id = undefined;
      items.push(last);
      items.end();
    };
    const { value: bare, attachments, ...places } = detached(task);
    work = this.process.startTask({
      fingerprint: () => fingerprint({ task: bare, attachments: attachments.map(digest) }),
      begin: (taskId) => {
        id = taskId;
        this.#running.set(id, (item) => (item === 'ended' || 'error' in item ? end(item) : items.push(item)));
        this.process.send({ type: 'begin', id, task: bare, ...places }, attachments);
      },
      abort: (taskId) => this.process.send({ type: 'abort', id: taskId }),
      withdrawn: () => end('ended'),
      lost: (error: AppError, taskId) => {
        this.#running.delete(taskId);
        end({ error });
      },
    });
    if (signal.aborted) stop();
    return unpacked(items, signal, (bytes) => {
      if (bytes > 0 && id !== undefined) this.process.send({ type: 'taken', id, bytes });
    });
  }

  /** The last event of a task; undefined if it has none. */
  protected async outcome(task: Task, signal: AbortSignal): Promise<Event | undefined> {
    let last: Event | undefined;
    for await (const event of this.run(task, signal)) last = event;
    return last;
  }

  #receive(message: TaskMessage<Event>, attachments: Attachments): void {
    switch (message.type) {
      case 'event':
        this.#running.get(message.id)?.({
          event: attached(message.event, message, attachments),
          bytes: byteLength(attachments),
        });
        return;
      case 'ended':
        this.#finish(message.id, 'ended');
        return;
      case 'failed':
        this.#finish(message.id, { error: this.#failure(message.error) });
    }
  }

  /** An exception of the worker, such as a failed allocation, is a failure of this engine and not of the server. */
  #failure(error: PlainError): AppError {
    const { capability } = this.deps;
    const revived = reviveError(error);
    if (revived.code !== 'internal') return revived;
    const { reason } = (revived as AppError<'internal'>).details;
    return new AppError('engine-failed', { capability, reason }, { cause: revived });
  }

  #finish(id: number, last: Item<Event>): void {
    const receive = this.#running.get(id);
    this.#running.delete(id);
    receive?.(last);
    this.process.ended(id);
  }
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
}

/** Throws the reason of an abort, so that a partial result is never taken for a whole one. */
async function* unpacked<Event>(
  items: Channel<Item<Event>>,
  signal: AbortSignal,
  taken: (bytes: number) => void,
): AsyncGenerator<Event> {
  for await (const item of items) {
    if (item === 'ended') break;
    if ('error' in item) throw item.error;
    yield item.event;
    taken(item.bytes);
  }
  signal.throwIfAborted();
}
