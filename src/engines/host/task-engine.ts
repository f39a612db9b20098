import { createHash } from 'node:crypto';
import { Channel } from '../../core/channel.ts';
import { type AppError, reviveError } from '../../core/errors.ts';
import type { Attachments } from './channel.ts';
import type { ChildExit, Spawn } from './child.ts';
import { type EngineObserver, EngineProcess, type StartTimer } from './engine-process.ts';
import { fingerprint } from './in-flight.ts';
import { closingMs, type FromTaskWorker, type ToTaskWorker } from './task-messages.ts';

export interface TaskEngineParts<Options, Facts> {
  /** What it does for people: `speech`, `embedding`, … */
  readonly capability: string;
  readonly entry: string;
  readonly options: Options;
  readonly spawn: Spawn;
  readonly startTimer: StartTimer;
  /** It was loaded before: when it cannot be loaded now, it is tried again. */
  readonly proven?: boolean;
  /** How to start over, where another start is the answer to this end; nothing where it is not. */
  readonly startsOver?: (exit: ChildExit, options: Options) => Options | undefined;
  /** Why it could not load, where it did not say so itself. */
  readonly loadReason?: (exit: ChildExit) => string;
  readonly observer?: TaskObserver<Facts>;
}

export interface TaskObserver<Facts> extends EngineObserver {
  progress?(fraction: number): void;
  loaded?(facts: Facts): void;
  note?(text: string): void;
}

/** Something that a task tells, with the bytes that go with it. */
export interface Told<Event> {
  readonly event: Event;
  readonly attachments: Attachments;
}

type Item<Event> = Told<Event> | { readonly error: unknown } | 'ended';

/**
 * An engine whose work is tasks: each begins with a message, tells what it tells, and ends. All engines but that for text are
 * of this form; each gives it the types of what it says.
 */
export class TaskEngine<Options, Facts, Task, Event> {
  readonly #process: EngineProcess<ToTaskWorker<Options, Task>, FromTaskWorker<Facts, Event>>;
  readonly #running = new Map<number, (item: Item<Event>) => void>();
  #facts: Facts | undefined;
  #options: Options;

  constructor(private readonly parts: TaskEngineParts<Options, Facts>) {
    const { capability, entry, options, spawn, startTimer, proven = false, observer = {}, loadReason } = parts;
    this.#options = options;
    this.#process = new EngineProcess({
      capability,
      entry,
      spawn,
      startTimer,
      proven,
      observer,
      closingMs,
      opening: () => ({ type: 'load', options: this.#options }),
      receive: (message, attachments) => this.#receive(message, attachments),
      startsOver: (exit) => this.#startsOver(exit),
      ...(loadReason ? { loadReason } : {}),
    });
  }

  start(): void {
    this.#process.start();
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  state(): ReturnType<EngineProcess<never, never>['state']> {
    return this.#process.state();
  }

  settled(): Promise<void> {
    return this.#process.settled();
  }

  facts(): Facts | undefined {
    return this.#facts;
  }

  /** Begins at once, or as soon as the engine is there. Whoever stops reading stops it; so does the signal, with its reason. */
  run(task: Task, signal: AbortSignal, attachments: Attachments = []): AsyncIterable<Told<Event>> {
    // What is refused ends before there is anything to be stopped.
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
    work = this.#process.undertake({
      fingerprint: () => fingerprint({ task, attachments: attachments.map(digest) }),
      begin: (given) => {
        id = given;
        this.#running.set(id, (item) => (item === 'ended' || 'error' in item ? end(item) : items.push(item)));
        this.#process.send({ type: 'begin', id, task }, attachments);
      },
      abort: (given) => this.#process.send({ type: 'abort', id: given }),
      withdrawn: () => end('ended'),
      lost: (error: AppError, given) => {
        this.#running.delete(given);
        end({ error });
      },
    });
    if (signal.aborted) stop();
    return unpacked(items, signal, ({ attachments: bytes }) => {
      const length = bytes.reduce((sum, { byteLength }) => sum + byteLength, 0);
      if (length > 0 && id !== undefined) this.#process.send({ type: 'taken', id, bytes: length });
    });
  }

  #startsOver(exit: ChildExit): boolean {
    const next = this.parts.startsOver?.(exit, this.#options);
    if (next !== undefined) this.#options = next;
    return next !== undefined;
  }

  #receive(message: FromTaskWorker<Facts, Event>, attachments: Attachments): void {
    const { observer } = this.parts;
    switch (message.type) {
      case 'progress':
        this.#process.progressed(message.fraction);
        observer?.progress?.(message.fraction);
        return;
      case 'loaded':
        this.#facts = message.facts;
        observer?.loaded?.(message.facts);
        this.#process.becameReady();
        return;
      case 'load-failed':
        this.#process.couldNotLoad(message.reason ?? undefined);
        return;
      case 'note':
        observer?.note?.(message.text);
        return;
      case 'told':
        this.#running.get(message.id)?.({ event: message.told, attachments });
        return;
      case 'ended':
        this.#finish(message.id, 'ended');
        return;
      case 'failed':
        this.#finish(message.id, { error: reviveError(message.error) });
    }
  }

  #finish(id: number, last: Item<Event>): void {
    const tell = this.#running.get(id);
    this.#running.delete(id);
    tell?.(last);
    this.#process.ended(id);
  }
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64url');
}

/**
 * What was stopped ends with the reason, so that half of a result is never taken for a whole one. An item counts as taken
 * when the reader comes back for the next one.
 */
async function* unpacked<Event>(
  items: Channel<Item<Event>>,
  signal: AbortSignal,
  taken: (told: Told<Event>) => void,
): AsyncGenerator<Told<Event>> {
  for await (const item of items) {
    if (item === 'ended') break;
    if ('error' in item) throw item.error;
    yield item;
    taken(item);
  }
  signal.throwIfAborted();
}
