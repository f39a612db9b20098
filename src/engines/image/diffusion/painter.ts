import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { StartTimer } from '../../host/engine-process.ts';
import {
  FrameReader,
  type FromPainter,
  frame,
  type PainterLoad,
  type PaintParams,
  type ToPainter,
} from './messages.ts';

/** A process with stable-diffusion.cpp. */
interface PainterProcess {
  send(message: ToPainter, bytes?: Uint8Array): void;
  kill(): void;
}

export interface PainterListeners {
  message(message: FromPainter, bytes: Uint8Array): void;
  exit(how: string): void;
}

type SpawnPainter = (listeners: PainterListeners) => PainterProcess;

interface PainterParts {
  readonly spawn: SpawnPainter;
  readonly startTimer: StartTimer;
  /** The process ended unexpectedly. */
  readonly died: (how: string) => void;
}

/** Time to stop, which the driver does at the next step; then the process is killed. */
export const graceMs = 20_000;

interface Job {
  readonly id: number;
  readonly progress: (step: number, steps: number) => void;
  readonly resolve: (picture: Uint8Array) => void;
  readonly reject: (error: Error) => void;
  picture: Uint8Array | undefined;
}

/** A loaded model; one job at a time. */
export class Painter {
  readonly #process: PainterProcess;
  #loading: { resolve(): void; reject(error: Error): void } | undefined;
  #job: Job | undefined;
  #lastId = 0;
  #ended = false;

  constructor(private readonly parts: PainterParts) {
    this.#process = parts.spawn({
      message: (message, bytes) => this.#receive(message, bytes),
      exit: (how) => this.#exited(how),
    });
  }

  /** False after `end`. */
  get usable(): boolean {
    return !this.#ended;
  }

  load(load: PainterLoad): Promise<void> {
    const loaded = new Promise<void>((resolve, reject) => {
      this.#loading = { resolve, reject };
    });
    this.#process.send({ type: 'load', load });
    return loaded;
  }

  draw(
    params: PaintParams,
    initial: Uint8Array | undefined,
    { progress, signal }: { readonly progress: Job['progress']; readonly signal: AbortSignal },
  ): Promise<Uint8Array> {
    const begin = (id: number): void =>
      this.#process.send({ type: 'draw', id, params, initial: initial !== undefined }, initial);
    return this.#work(begin, progress, signal);
  }

  upscale(picture: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    return this.#work(
      (id) => this.#process.send({ type: 'upscale', id }, picture),
      () => {},
      signal,
    );
  }

  end(): void {
    this.#ended = true;
    this.#process.kill();
  }

  async #work(begin: (id: number) => void, progress: Job['progress'], signal: AbortSignal): Promise<Uint8Array> {
    signal.throwIfAborted();
    const id = ++this.#lastId;
    let grace: { cancel(): void } | undefined;
    const stop = (): void => {
      this.#process.send({ type: 'cancel' });
      grace = this.parts.startTimer(graceMs, () => {
        this.end();
        this.#job?.reject(new Error('it did not stop and was ended'));
      });
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await new Promise<Uint8Array>((resolve, reject) => {
        this.#job = { id, progress, resolve, reject, picture: undefined };
        begin(id);
      });
    } finally {
      this.#job = undefined;
      grace?.cancel();
      signal.removeEventListener('abort', stop);
      signal.throwIfAborted();
    }
  }

  #receive(message: FromPainter, bytes: Uint8Array): void {
    if (message.type === 'loaded') this.#loading?.resolve();
    else if (message.type === 'load-failed') this.#loading?.reject(new Error(message.reason));
    else if (this.#job?.id === message.id) follow(this.#job, message, bytes);
  }

  #exited(how: string): void {
    if (this.#ended) return;
    this.#ended = true;
    const error = new Error(how);
    this.#loading?.reject(error);
    this.#job?.reject(error);
    this.parts.died(how);
  }
}

function follow(job: Job, message: Extract<FromPainter, { readonly id: number }>, bytes: Uint8Array): void {
  if (message.type === 'progress') job.progress(message.step, message.steps);
  else if (message.type === 'picture') job.picture = new Uint8Array(bytes);
  else if (message.type === 'failed') job.reject(new Error(message.reason));
  else if (job.picture) job.resolve(job.picture);
  else job.reject(new Error('it gave no picture'));
}

/** File descriptor of the pipe in the runtime. */
const pipeDescriptor = 3;

/** Starts the Bare runtime at this path. Its output goes to our standard error. */
export function spawnBare(runtime: string): SpawnPainter {
  return (listeners) => {
    const entry = fileURLToPath(new URL('./bare/main.js', import.meta.url));
    const child: ChildProcess = spawn(runtime, [entry], { stdio: ['ignore', 2, 2, 'overlapped'] });
    const pipe = child.stdio[pipeDescriptor] as Duplex;
    const reader = new FrameReader<FromPainter>((message, bytes) => listeners.message(message, bytes));
    pipe.on('error', () => {}).on('data', (chunk: Uint8Array) => reader.push(chunk));
    const kill = (): void => void child.kill('SIGKILL');
    // While it loads it would not notice that we are gone.
    process.once('exit', kill).once('disconnect', kill);
    // `on`, not `once`: a failing kill emits another error event.
    child.on('error', (error) => listeners.exit(error.message));
    child.once('exit', (code, signal) => {
      process.off('exit', kill).off('disconnect', kill);
      listeners.exit(`its process ended with ${signal ?? `code ${code}`}`);
    });
    return { send: (message, bytes) => void pipe.write(frame(message, bytes)), kill };
  };
}
