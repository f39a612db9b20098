import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { AppError } from '../../core/errors.ts';
import { startFailure } from '../../core/processes.ts';
import { type Deferred, deferred } from '../../core/synchronization.ts';
import { systemTimer } from '../../core/timers.ts';
import type { StartTimer } from '../host/engine-process.ts';
import { FrameReader, type FromDriver, frame, type ToDriver } from './messages.ts';

interface DriverListeners<Progress> {
  message(message: FromDriver<Progress>, bytes: Uint8Array): void;
  exit(how: string): void;
}

type SpawnDriver<Load, Task, Progress> = (listeners: DriverListeners<Progress>) => {
  send(message: ToDriver<Load, Task>, bytes?: Uint8Array): void;
  kill(): void;
};

/** Time to stop a task, which drivers do at the next step; then the process is killed. */
export const graceMs = 20_000;

interface Job<Progress> extends Deferred<Uint8Array> {
  readonly id: number;
  readonly progress: (progress: Progress) => void;
}

/** A native driver in the Bare runtime, with a loaded model. */
export class DriverProcess<Load, Task, Progress> {
  readonly #process: ReturnType<SpawnDriver<Load, Task, Progress>>;
  #loading: Deferred<void> | undefined;
  #job: Job<Progress> | undefined;
  #lastId = 0;
  #ended = false;

  /** `died` is called if the process ends unexpectedly. */
  constructor(
    private readonly deps: {
      readonly spawn: SpawnDriver<Load, Task, Progress>;
      readonly startTimer: StartTimer;
      readonly died: (how: string) => void;
    },
  ) {
    this.#process = deps.spawn({
      message: (message, bytes) => this.#receive(message, bytes),
      exit: (how) => this.#exited(how),
    });
  }

  /** False after `end`. */
  get usable(): boolean {
    return !this.#ended;
  }

  load(load: Load): Promise<void> {
    this.#loading = deferred<void>();
    this.#process.send({ type: 'load', load });
    return this.#loading.promise;
  }

  /** Resolves to the bytes of the result; rejects with the reason of the signal if it aborts. */
  async run(
    task: Task,
    options: Pick<Job<Progress>, 'progress'> & { input?: Uint8Array | undefined; signal: AbortSignal },
  ): Promise<Uint8Array> {
    const { input, progress, signal } = options;
    signal.throwIfAborted();
    const id = ++this.#lastId;
    let grace: ReturnType<StartTimer> | undefined;
    const stop = (): void => {
      this.#process.send({ type: 'cancel' });
      grace = this.deps.startTimer(graceMs, () => {
        this.end();
        this.#job?.reject(new Error('it did not stop and was ended'));
      });
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      this.#job = { id, progress, ...deferred<Uint8Array>() };
      this.#process.send({ type: 'run', id, task }, input);
      return await this.#job.promise;
    } finally {
      this.#job = undefined;
      grace?.cancel();
      signal.removeEventListener('abort', stop);
      signal.throwIfAborted();
    }
  }

  end(): void {
    this.#ended = true;
    this.#process.kill();
  }

  #receive(message: FromDriver<Progress>, bytes: Uint8Array): void {
    if (message.type === 'loaded') this.#loading?.resolve();
    else if (message.type === 'load-failed') this.#loading?.reject(new Error(message.reason));
    else if (message.id !== this.#job?.id) return;
    else if (message.type === 'progress') this.#job.progress(message.progress);
    else if (message.type === 'failed') this.#job.reject(new Error(message.reason));
    else this.#job.resolve(new Uint8Array(bytes));
  }

  #exited(how: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#loading?.reject(new Error(how));
    // The running task gets no answer: the host would give the next one to this process, which ends now.
    this.deps.died(how);
  }
}

interface DriverProgram<Load> {
  /** Path of the Bare runtime. */
  readonly runtime: string;
  /** Path of the program of the driver process. */
  readonly entry: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly load: Load;
}

/** Starts a driver process and loads its model. If the process dies, so does this one: the host fails the request and restarts both. */
export async function openDriver<Load, Task, Progress>(
  name: string,
  { load, ...program }: DriverProgram<Load>,
): Promise<DriverProcess<Load, Task, Progress>> {
  const driver = new DriverProcess<Load, Task, Progress>({
    spawn: (listeners) => spawnBare(program, listeners),
    startTimer: systemTimer,
    died: (how) => {
      process.stderr.write(`${name} is gone: ${how}\n`);
      setImmediate(() => process.exit(1));
    },
  });
  try {
    await driver.load(load);
    return driver;
  } catch (error) {
    driver.end();
    throw error;
  }
}

/** File descriptor of the pipe in the runtime. */
const pipeDescriptor = 3;

/** The output of the process goes to our standard error. */
function spawnBare<Progress>(
  { runtime, entry, environment }: Omit<DriverProgram<unknown>, 'load'>,
  listeners: DriverListeners<Progress>,
) {
  const child: ChildProcess = spawn(runtime, [entry], {
    stdio: ['ignore', 2, 2, 'overlapped'],
    env: { ...process.env, ...environment },
  });
  // `on`, not `once`: a failing kill emits another error event.
  child.on('error', (error) => listeners.exit(child.pid === undefined ? startFailure(error).reason : error.message));
  // Undefined if the pipe could not be created.
  const pipe = (child.stdio as typeof child.stdio | undefined)?.[pipeDescriptor] as Duplex | null | undefined;
  const reader = new FrameReader<FromDriver<Progress>>((message, bytes) => listeners.message(message, bytes));
  pipe?.on('error', () => {}).on('data', (chunk: Uint8Array) => reader.push(chunk));
  const kill = (): void => void child.kill('SIGKILL');
  // While it loads it would not notice the end of this process.
  process.once('exit', kill).once('disconnect', kill);
  child.once('exit', (code, signal) => {
    process.off('exit', kill).off('disconnect', kill);
    listeners.exit(`its process ended with ${signal ?? `code ${code}`}`);
  });
  return { send: (message: object, bytes?: Uint8Array) => void pipe?.write(frame(message, bytes)), kill };
}

/** The error of a run for the client: the reason of the signal if it aborted, otherwise the message of the driver without its full stop. */
export function driverFailure(error: unknown, capability: string, signal: AbortSignal): AppError {
  signal.throwIfAborted();
  const text = error instanceof Error ? error.message : String(error);
  return new AppError('engine-failed', { capability, reason: text.trim().replace(/\.$/, '') });
}
