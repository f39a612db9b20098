import { AppError, type PlainError, plainError } from '../../core/errors.ts';
import type { Attachments } from './channel.ts';
import type { StartTimer } from './engine-process.ts';
import type { Watch } from './heartbeat.ts';
import { openParent, type Parent } from './parent.ts';
import { closingMs, type FromTaskWorker, type ToTaskWorker } from './task-messages.ts';

/** What an engine is once it is loaded. */
export interface LoadedTasks<Facts, Task, Event> {
  readonly facts: Facts;
  /** How many may run at once; one unless told otherwise. */
  readonly atOnce?: number;
  /** Resolves when it is done; an `AppError` that it throws reaches the client as it is. */
  run(task: Task, attachments: Attachments, tools: TaskTools<Event>): Promise<void>;
  close?(): Promise<void> | void;
}

export interface TaskTools<Event> {
  tell(event: Event, attachments?: Attachments): void;
  /** To be waited for before many bytes are made: resolves when the reader has taken enough of those that were told. */
  room(): Promise<void>;
  /** To be looked at between two steps: nobody wants the rest. */
  readonly signal: AbortSignal;
  /** Whatever keeps this thread busy for longer than a moment goes through it, with the time that it may take at most. */
  readonly watch: Pick<Watch, 'here' | 'aside'>;
}

export interface LoadTools {
  progress(fraction: number): void;
  note(text: string): void;
  /** For what lives as long as the engine and keeps a thread busy. */
  readonly watch: Watch;
}

/** The main part of a worker process: called once, with how to load. */
export function serveTasks<Options, Facts, Task, Event>(
  load: (options: Options, tools: LoadTools) => Promise<LoadedTasks<Facts, Task, Event>>,
): void {
  let loaded: LoadedTasks<Facts, Task, Event> | undefined;
  const waiting: { readonly id: number; readonly task: Task; readonly attachments: Attachments }[] = [];
  const running = new Map<number, { readonly stop: AbortController; readonly credit: ReaderCredit }>();

  const parent: Parent<FromTaskWorker<Facts, Event>> = openParent<
    ToTaskWorker<Options, Task>,
    FromTaskWorker<Facts, Event>
  >({
    message: (message, attachments) => {
      switch (message.type) {
        case 'load':
          void begin(message.options);
          return;
        case 'begin':
          waiting.push({ id: message.id, task: message.task, attachments });
          beginNext();
          return;
        case 'abort':
          abort(message.id);
          return;
        case 'taken':
          running.get(message.id)?.credit.taken(message.bytes);
      }
    },
    closed: () => {
      for (const { stop } of running.values()) stop.abort();
      return Promise.resolve(loaded?.close?.());
    },
  });

  async function begin(options: Options): Promise<void> {
    try {
      loaded = await load(options, {
        progress: (fraction) => parent.send({ type: 'progress', fraction }),
        note: (text) => parent.send({ type: 'note', text }),
        watch: parent.watch,
      });
      parent.watch.serving(closingMs);
      parent.send({ type: 'loaded', facts: loaded.facts });
    } catch (error) {
      const reason = error instanceof Error ? error.message || null : String(error);
      parent.send({ type: 'load-failed', reason }, [], () => process.exit(1));
    }
  }

  function abort(id: number): void {
    const place = waiting.findIndex((one) => one.id === id);
    if (place !== -1) {
      waiting.splice(place, 1);
      parent.send({ type: 'ended', id });
    }
    running.get(id)?.stop.abort();
  }

  function beginNext(): void {
    if (!loaded || running.size >= (loaded.atOnce ?? 1)) return;
    const next = waiting.shift();
    if (!next) return;
    void run(loaded, next);
    beginNext();
  }

  async function run(
    engine: LoadedTasks<Facts, Task, Event>,
    { id, task, attachments }: (typeof waiting)[number],
  ): Promise<void> {
    const stop = new AbortController();
    const credit = new ReaderCredit(stop.signal, startTimer);
    running.set(id, { stop, credit });
    const error = await outcome(
      engine.run(task, attachments, {
        tell: (told, bytes = []) => {
          credit.told(bytes.reduce((sum, { byteLength }) => sum + byteLength, 0));
          parent.send({ type: 'told', id, told }, bytes);
        },
        room: () => credit.room(),
        signal: stop.signal,
        watch: parent.watch,
      }),
    );
    running.delete(id);
    parent.send(error && !stop.signal.aborted ? { type: 'failed', id, error } : { type: 'ended', id });
    beginNext();
  }
}

function startTimer(milliseconds: number, passed: () => void): { cancel(): void } {
  const timer = setTimeout(passed, milliseconds);
  return { cancel: () => clearTimeout(timer) };
}

async function outcome(work: Promise<void>): Promise<PlainError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return plainError(error);
  }
}

/**
 * How many bytes a task may have told that its reader has not taken. Some five minutes of speech as WAV: a task that is no
 * longer never waits for its reader, and so does not keep its engine from others.
 */
export const mostUntakenBytes = 16 * 2 ** 20;
/** A reader that takes nothing, or next to nothing, for this long is given up. */
export const longestWaitMs = 60_000;

/** Flow control between a task and its reader: counts the bytes on their way, and has the task wait where they are too many. */
export class ReaderCredit {
  #untaken = 0;
  #wake: (() => void) | undefined;

  constructor(
    private readonly signal: AbortSignal,
    private readonly startTimer: StartTimer,
  ) {}

  told(bytes: number): void {
    this.#untaken += bytes;
  }

  taken(bytes: number): void {
    this.#untaken -= bytes;
    if (this.#untaken < mostUntakenBytes) this.#wake?.();
  }

  /** Resolves when more may be told, and when nobody wants more; rejects where the reader has stalled. */
  async room(): Promise<void> {
    if (this.#untaken < mostUntakenBytes || this.signal.aborted) return;
    await new Promise<void>((resolve, reject) => {
      const over = (settle: () => void) => (): void => {
        timer.cancel();
        this.signal.removeEventListener('abort', wake);
        this.#wake = undefined;
        settle();
      };
      const wake = over(resolve);
      const timer = this.startTimer(
        longestWaitMs,
        over(() => reject(new AppError('stopped', {}))),
      );
      this.#wake = wake;
      this.signal.addEventListener('abort', wake);
    });
  }
}
