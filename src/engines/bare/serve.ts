import { FrameReader, type FromDriver, frame, type ToDriver } from './messages.ts';

// Runs in the Bare runtime, not in Node: it has the driver and the pipe, nothing else.

interface Pipe {
  on(event: 'data', listener: (chunk: Uint8Array) => void): Pipe;
  on(event: 'end' | 'error', listener: () => void): Pipe;
  write(bytes: Uint8Array): unknown;
}

declare const Bare: { readonly IPC: Pipe; exit(code: number): never };

interface LoadedDriver<Task, Progress> {
  /** Resolves to the bytes of the result. */
  run(task: Task, input: Uint8Array, progress: (progress: Progress) => void): Promise<Uint8Array>;
  /** Makes the running task reject. */
  cancel(): unknown;
}

/** The program of a driver process: loads a model when asked to, then runs tasks. */
export function serveDriver<Load, Task, Progress>(open: (load: Load) => Promise<LoadedDriver<Task, Progress>>): void {
  let driver: LoadedDriver<Task, Progress> | undefined;
  const send = (message: FromDriver<Progress>, bytes?: Uint8Array): void => void Bare.IPC.write(frame(message, bytes));

  async function load(request: Load): Promise<void> {
    try {
      driver = await open(request);
      send({ type: 'loaded' });
    } catch (error) {
      send({ type: 'load-failed', reason: reasonOf(error) });
    }
  }

  async function run(id: number, task: Task, input: Uint8Array): Promise<void> {
    try {
      if (!driver) throw new Error('no model is loaded');
      const result = await driver.run(task, input, (progress) => send({ type: 'progress', id, progress }));
      send({ type: 'done', id }, result);
    } catch (error) {
      send({ type: 'failed', id, reason: reasonOf(error) });
    }
  }

  /** A task that cannot be cancelled goes on until the process is killed. */
  async function cancel(): Promise<void> {
    try {
      await driver?.cancel();
    } catch {}
  }

  const reader = new FrameReader<ToDriver<Load, Task>>((message, bytes) => {
    if (message.type === 'load') void load(message.load);
    else if (message.type === 'run') void run(message.id, message.task, new Uint8Array(bytes));
    else void cancel();
  });

  Bare.IPC.on('data', (chunk) => reader.push(chunk))
    // The parent process is gone.
    .on('end', () => Bare.exit(0))
    .on('error', () => Bare.exit(0));
}

function reasonOf(error: unknown): string {
  return (error instanceof Error && error.message) || String(error);
}
