import { AppError, plainError } from '../../core/errors.ts';
import { systemTimer } from '../../core/timers.ts';
import type { StartTimer } from './engine-process.ts';
import type { Watch } from './heartbeat.ts';
import { openParent } from './parent.ts';
import { attached, byteLength, closingMs, detached, type FromTaskWorker, type ToTaskWorker } from './task-messages.ts';

/** A loaded engine. */
interface LoadedTasks<Facts, Task, Event> {
  readonly facts: Facts;
  /** How many tasks may run at once; 1 by default. */
  readonly concurrency?: number;
  /** Resolves when the task is done. An `AppError` that it throws reaches the client unchanged. */
  run(task: Task, tools: TaskTools<Event>): Promise<void>;
  close?(): Promise<void> | void;
}

export interface TaskTools<Event> {
  emit(event: Event): void;
  /** Await it before producing many bytes: resolves when the reader has taken enough of the earlier ones. */
  drained(): Promise<void>;
  /** Check it between two steps. */
  readonly signal: AbortSignal;
  /** Declares work that keeps this thread busy, with the time that it may take. */
  readonly watch: Pick<Watch, 'here' | 'aside'>;
}

export interface LoadTools {
  progress(fraction: number): void;
  note(text: string): void;
  /** For work that keeps a thread busy as long as the engine lives. */
  readonly watch: Watch;
}

/** The main function of a worker process. */
export function serveTasks<Options, Facts, Task, Event>(
  load: (options: Options, tools: LoadTools) => Promise<LoadedTasks<Facts, Task, Event>>,
): void {
  let loaded: LoadedTasks<Facts, Task, Event> | undefined;
  const waiting: { readonly id: number; readonly task: Task }[] = [];
  const running = new Map<number, { readonly stop: AbortController; readonly credit: ReaderCredit }>();

  const parent = openParent<ToTaskWorker<Options, Task>, FromTaskWorker<Facts, Event>>({
    message: (message, attachments) => {
      switch (message.type) {
        case 'load':
          void begin(message.options);
          return;
        case 'begin':
          waiting.push({ id: message.id, task: attached(message.task, message, attachments) });
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
    const index = waiting.findIndex((one) => one.id === id);
    if (index !== -1) {
      waiting.splice(index, 1);
      parent.send({ type: 'ended', id });
    }
    running.get(id)?.stop.abort();
  }

  function beginNext(): void {
    if (!loaded || running.size >= (loaded.concurrency ?? 1)) return;
    const next = waiting.shift();
    if (!next) return;
    void run(loaded, next);
    beginNext();
  }

  async function run(engine: LoadedTasks<Facts, Task, Event>, { id, task }: (typeof waiting)[number]): Promise<void> {
    const stop = new AbortController();
    const credit = new ReaderCredit(stop.signal, systemTimer);
    running.set(id, { stop, credit });
    const tools: TaskTools<Event> = {
      emit: (event) => {
        const { value, attachments, ...places } = detached(event);
        credit.sent(byteLength(attachments));
        parent.send({ type: 'event', id, event: value, ...places }, attachments);
      },
      drained: () => credit.drained(),
      signal: stop.signal,
      watch: parent.watch,
    };
    const error = await engine.run(task, tools).then(() => undefined, plainError);
    running.delete(id);
    parent.send(error && !stop.signal.aborted ? { type: 'failed', id, error } : { type: 'ended', id });
    beginNext();
  }
}

/** The maximum number of unread bytes of a task: about five minutes of speech as WAV. A shorter task never waits for its reader. */
export const maxUnreadBytes = 16 * 2 ** 20;
/** A task whose reader takes nothing for this long is aborted. */
export const maxWaitMs = 60_000;

/** Flow control: a task waits while too many of its bytes are not taken. */
export class ReaderCredit {
  #untaken = 0;
  #wake: (() => void) | undefined;

  constructor(
    private readonly signal: AbortSignal,
    private readonly startTimer: StartTimer,
  ) {}

  sent(bytes: number): void {
    this.#untaken += bytes;
  }

  taken(bytes: number): void {
    this.#untaken -= bytes;
    if (this.#untaken < maxUnreadBytes) this.#wake?.();
  }

  /** Resolves when more bytes may be sent, or the task is aborted; rejects if the reader has stalled. */
  async drained(): Promise<void> {
    if (this.#untaken < maxUnreadBytes || this.signal.aborted) return;
    await new Promise<void>((resolve, reject) => {
      const over = (settle: () => void) => (): void => {
        timer.cancel();
        this.signal.removeEventListener('abort', wake);
        this.#wake = undefined;
        settle();
      };
      const wake = over(resolve);
      const stalled = over(() => reject(new AppError('stopped', {})));
      const timer = this.startTimer(maxWaitMs, stalled);
      this.#wake = wake;
      this.signal.addEventListener('abort', wake);
    });
  }
}
