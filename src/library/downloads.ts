import { rm, rmdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { DownloadStatus, ModelDownloads, SavedDownload } from '../core/model-downloads.ts';
import type { LayerProgress, ModelDownload } from '../core/models-view.ts';
import { Latch } from '../core/synchronization.ts';
import { type DownloadDeps, DownloadError, withTargetLock } from './download.ts';
import { deletePart } from './part-file.ts';
import type { PulledModel } from './pull-model.ts';

export interface DownloadsOptions {
  /** The one name of a model that may have several; undefined if this is no model. */
  readonly nameOf: (model: string) => string | undefined;
  readonly pull: (
    model: string,
    parts: Required<Pick<DownloadDeps, 'progress' | 'signal' | 'begins'>>,
  ) => Promise<PulledModel>;
  readonly saved?:
    | {
        read(): Promise<readonly SavedDownload[]>;
        write(downloads: readonly SavedDownload[]): Promise<void>;
      }
    | undefined;
  /** Whether downloads of the last run go on by themselves. */
  readonly resumes: boolean;
  /** Before the next try; rejects when it is aborted. */
  readonly pause: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

class Entry {
  state: DownloadStatus['state'] = 'stopped';
  done = 0;
  total: number | undefined;
  layer: LayerProgress | undefined;
  reason: string | undefined;
  path: string | undefined;
  readonly files = new Set<string>();
  /** It continues without followers, and in the next run. */
  isKept = false;
  /** It was started by an administrator, or has files. */
  isListed = false;
  followers = 0;
  /** Progress of the last seconds. */
  samples: { readonly at: number; readonly done: number }[] = [];
  /** Ends the pause before the next try. */
  wake?: AbortController;
  running?: { readonly abort: AbortController; readonly ended: Promise<void> };
  readonly changed = new Latch();

  constructor(readonly model: string) {}
}

/** How often followers get progress, at most. */
const reportMs = 200;
const sampleMs = 500;
/** The speed is that of this time. */
const speedMs = 5000;
/** How often progress is saved. */
const saveMs = 2000;
/** The oldest of those that are over are dropped from the list beyond this number. */
const maxEntries = 100;
/** Pauses after failures of the network, each twice as long as the one before. */
const firstRetryMs = 10_000;
const maxRetryMs = 5 * 60_000;

/**
 * The downloads of a server. Those that `start` began go on until they are stopped, one at a time, and in the next run. One that only clients
 * follow runs at once, and stops when the last of them has gone.
 */
export class Downloads implements ModelDownloads {
  readonly #entries = new Map<string, Entry>();
  #restored: Promise<void> = Promise.resolve();

  constructor(private readonly options: DownloadsOptions) {}

  /** Lists the downloads of the last run, and resumes those that were running. */
  restore(): Promise<void> {
    this.#restored = this.#restore();
    return this.#restored;
  }

  async #restore(): Promise<void> {
    for (const { model, state, files, done, total, reason } of (await this.options.saved?.read()) ?? []) {
      const entry = this.#entry(model);
      const isKept = this.options.resumes && (state === 'running' || state === 'waiting');
      Object.assign(entry, { done, total, reason, isKept, isListed: true });
      entry.state = isKept ? 'waiting' : state === 'failed' ? 'failed' : 'stopped';
      for (const file of files) entry.files.add(file);
    }
    this.#startNext();
  }

  async list(): Promise<readonly DownloadStatus[]> {
    await this.#restored;
    return [...this.#entries.values()].map((entry) => {
      const { model, state, done, total, reason, path } = entry;
      const bytesPerSecond = state === 'running' ? this.#speed(entry) : 0;
      return { model, state, doneBytes: done, totalBytes: total, bytesPerSecond, reason, path };
    });
  }

  async start(model: string): Promise<string | undefined> {
    const name = this.options.nameOf(model);
    if (name === undefined) return undefined;
    await this.#restored;
    const entry = this.#entry(name);
    entry.isKept = true;
    entry.isListed = true;
    if (!entry.running) Object.assign(entry, { state: 'waiting', reason: undefined });
    entry.wake?.abort();
    this.#startNext();
    await this.#save();
    return name;
  }

  async stop(model: string): Promise<boolean> {
    const entry = await this.#find(model);
    if (!entry) return false;
    entry.isKept = false;
    if (entry.state === 'waiting') entry.state = 'stopped';
    entry.running?.abort.abort();
    await entry.running?.ended;
    await this.#save();
    return true;
  }

  async remove(model: string): Promise<boolean> {
    const entry = await this.#find(model);
    if (!entry) return false;
    await this.stop(model);
    if (entry.state !== 'done') for (const file of entry.files) await deleteFile(file);
    this.#entries.delete(entry.model);
    await this.#save();
    return true;
  }

  /** The progress of a download, which is started unless it runs; its last report at the end. Throws if it fails or is stopped. */
  async *follow(name: string, signal: AbortSignal): ModelDownload {
    await this.#restored;
    const entry = this.#entry(name);
    entry.followers += 1;
    const release = () => entry.changed.release();
    signal.addEventListener('abort', release);
    try {
      if (!entry.running) this.#run(entry);
      entry.wake?.abort();
      const { running } = entry;
      while (entry.running === running && !signal.aborted) {
        await entry.changed.wait();
        if (entry.state === 'running' && entry.samples.length > 0)
          yield { done: entry.done, total: entry.total, layer: entry.layer };
      }
      signal.throwIfAborted();
      await running?.ended;
      if (entry.state !== 'done') throw new Error(entry.reason ?? 'the download was stopped');
      yield { done: entry.done, total: entry.total, layer: entry.layer };
    } finally {
      signal.removeEventListener('abort', release);
      entry.followers -= 1;
      if (entry.followers === 0 && !entry.isKept) {
        entry.running?.abort.abort();
        await entry.running?.ended;
      }
    }
  }

  async #find(model: string): Promise<Entry | undefined> {
    await this.#restored;
    return this.#entries.get(this.options.nameOf(model) ?? model);
  }

  #entry(model: string): Entry {
    const present = this.#entries.get(model);
    if (present) return present;
    const entry = new Entry(model);
    this.#entries.set(model, entry);
    const over = [...this.#entries.values()].filter((one) => one !== entry && !one.running && one.state !== 'waiting');
    for (const old of over.slice(0, Math.max(0, this.#entries.size - maxEntries))) this.#entries.delete(old.model);
    return entry;
  }

  #startNext(): void {
    const entries = [...this.#entries.values()];
    if (entries.some((entry) => entry.isKept && entry.state === 'running')) return;
    const next = entries.find((entry) => entry.isKept && !entry.running && entry.state === 'waiting');
    if (next) this.#run(next);
  }

  #run(entry: Entry): void {
    const abort = new AbortController();
    Object.assign(entry, { state: 'running', reason: undefined, path: undefined, samples: [] });
    entry.running = { abort, ended: Promise.resolve().then(() => this.#pull(entry, abort.signal)) };
  }

  async #pull(entry: Entry, signal: AbortSignal): Promise<void> {
    try {
      Object.assign(entry, { path: await this.#persistently(entry, signal), state: 'done' });
    } catch (error) {
      if (signal.aborted) entry.state = 'stopped';
      else Object.assign(entry, { state: 'failed', reason: (error as Error).message });
      // A name that a client mistyped is not listed.
      if (!entry.isListed) this.#entries.delete(entry.model);
    }
    delete entry.running;
    entry.changed.release();
    this.#startNext();
    await this.#save();
  }

  /** A download that goes on without clients is tried again when it fails because of the network. Others may run in the pauses. */
  async #persistently(entry: Entry, signal: AbortSignal): Promise<string> {
    const progress: DownloadDeps['progress'] = (done, total, layer) => this.#progress(entry, done, total, layer);
    const begins = (file: string) => {
      entry.files.add(file);
      entry.isListed = true;
      return this.#save();
    };
    for (let failures = 0; ; failures += 1) {
      const before = entry.done;
      try {
        return (await this.options.pull(entry.model, { signal, progress, begins })).path;
      } catch (error) {
        if (signal.aborted || !entry.isKept || !(error instanceof DownloadError && error.temporary)) throw error;
        if (entry.done > before) failures = 0;
        Object.assign(entry, { state: 'waiting', reason: `${error.message} It is tried again by itself.` });
        entry.wake = new AbortController();
        this.#startNext();
        await this.#save();
        const delay = Math.min(maxRetryMs, firstRetryMs * 2 ** failures);
        await this.options.pause(delay, AbortSignal.any([signal, entry.wake.signal])).catch(() => undefined);
        signal.throwIfAborted();
        Object.assign(entry, { state: 'running', reason: undefined, samples: [] });
      }
    }
  }

  #reportedAt = Number.NEGATIVE_INFINITY;
  #savedAt = Number.NEGATIVE_INFINITY;

  #progress(entry: Entry, done: number, total: number | undefined, layer?: LayerProgress): void {
    const now = this.options.now();
    Object.assign(entry, { done, total, layer });
    const last = entry.samples.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
    if (now - last >= sampleMs) {
      entry.samples = [...entry.samples.filter(({ at }) => at >= now - speedMs), { at: now, done }];
    }
    if (now - this.#reportedAt >= reportMs) {
      this.#reportedAt = now;
      entry.changed.release();
    }
    if (now - this.#savedAt >= saveMs) {
      this.#savedAt = now;
      void this.#save();
    }
  }

  #speed({ samples, done }: Entry): number {
    const now = this.options.now();
    const first = samples.find(({ at }) => at >= now - speedMs) ?? samples.at(-1);
    return first && now > first.at ? Math.max(0, Math.round(((done - first.done) * 1000) / (now - first.at))) : 0;
  }

  /** Downloads that only clients follow are stopped in the next run. */
  async #save(): Promise<void> {
    const saved = [...this.#entries.values()].flatMap(({ model, state, isKept, files, done, total, reason }) => {
      if (state === 'done') return [];
      const next = isKept || state === 'failed' ? state : ('stopped' as const);
      return [{ model, state: next, files: [...files], done, total, reason }];
    });
    await this.options.saved?.write(saved);
  }
}

async function deleteFile(path: string): Promise<void> {
  await withTargetLock(path, async () => {
    await rm(path, { force: true });
    await deletePart(path);
  });
  // The folder of its repository, unless it has other files.
  const folder = dirname(path);
  if (basename(folder).includes('--')) await rmdir(folder).catch(() => undefined);
}
