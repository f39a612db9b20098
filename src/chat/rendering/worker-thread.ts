import { totalmem } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { FromThread } from './messages.ts';
import type { RenderThread } from './threads.ts';

/**
 * Enough for the longest conversation that a body can hold, but never more than a quarter of the machine; a template that
 * wants more ends its thread and nothing else.
 */
const memoryMegabytes = Math.min(4096, Math.floor(totalmem() / 4 / 2 ** 20));

/** A thread of this process that runs the given file. */
export function startWorkerThread(entry: URL): RenderThread {
  const worker = new Worker(entry, { resourceLimits: { maxOldGenerationSizeMb: memoryMegabytes }, stdout: false });
  worker.unref();
  const answer = new Promise<FromThread | undefined>((resolve) => {
    worker.once('message', resolve);
    worker.on('error', () => resolve(undefined));
    worker.once('exit', () => resolve(undefined));
  });
  return { post: (message) => worker.postMessage(message), answer, end: () => void worker.terminate() };
}
