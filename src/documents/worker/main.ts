import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { withFileLock } from '../../core/file-lock.ts';
import { deferred } from '../../core/synchronization.ts';
import { systemTimer } from '../../core/timers.ts';
import { serveTasks, type TaskTools } from '../../engines/host/task-worker.ts';
import { type CallTools, DocumentStore } from '../document-store.ts';
import { extractDocument } from '../extraction.ts';
import { type StoreEvent, type StoreOptions, type StoreTask, vectorOf } from '../messages.ts';

/** For the largest transaction, and for loading all vectors of a collection, on a slow disk. */
const maxStepMs = 60_000;
const tidyMs = 60_000;
/** An earlier process of this server may still be ending. */
const lockTries = 12;
const lockPauseMs = 250;

// Journals and locks are for the account only, like the files.
process.umask(0o077);

serveTasks<StoreOptions, object, StoreTask, StoreEvent>(async ({ folder }, { note }) => {
  const release = await lock(folder);
  const watchers = new Set<() => void>();
  const onWork = (): void => {
    for (const emit of watchers) emit();
  };
  const read = (name: string, path: string, signal: AbortSignal) => extractDocument(name, { path }, { signal });
  const clocks = { now: Date.now, tick: () => performance.now(), startTimer: systemTimer };
  const store = new DocumentStore({ ...clocks, folder, read, warn: note, onWork });
  setInterval(() => store.tidy(), tidyMs).unref();
  return {
    facts: {},
    // One reads files or waits for events; the others take milliseconds.
    concurrency: 64,
    run: async (task, tools) => {
      if (task.type === 'watch') return watchWork(watchers, tools);
      const { signal, watch } = tools;
      const own: CallTools = { vectors: task.vectors.map(vectorOf), signal };
      const method = store[task.method] as (...args: readonly unknown[]) => unknown;
      const result = await watch.here(maxStepMs, () => method.apply(store, [...task.args, own]));
      tools.emit(result === undefined ? { type: 'result' } : { type: 'result', result });
    },
    close: async () => {
      await store.close();
      await release();
    },
  };
});

async function watchWork(watchers: Set<() => void>, { emit, signal }: TaskTools<StoreEvent>): Promise<void> {
  const report = (): void => emit({ type: 'work' });
  watchers.add(report);
  // What a process before this one has left.
  report();
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  watchers.delete(report);
}

/** Resolves with the release of the folder. */
async function lock(folder: string): Promise<() => Promise<void>> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await heldLock(folder);
    } catch (error) {
      if (tries >= lockTries || !(error instanceof FolderInUse)) throw error;
      await pause(lockPauseMs);
    }
  }
}

class FolderInUse extends Error {}

async function heldLock(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const released = deferred<void>();
  return new Promise((resolve, reject) => {
    const work = () => {
      resolve(async () => {
        released.resolve();
        await held;
      });
      return released.promise;
    };
    const refuse = (_: string, holder: number) =>
      new FolderInUse(
        `the documents in ${folder} are used by another server${holder === 0 ? '' : ` (process ${holder})`}; stop it, or choose another folder with --documentsdir`,
      );
    const held: Promise<void> = withFileLock(join(folder, 'documents'), work, {
      refuse,
      // The process of the server, which can be stopped.
      holder: process.ppid,
    });
    held.catch(reject);
  });
}
