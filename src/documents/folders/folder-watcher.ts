import { type FSWatcher, watch } from 'node:fs';
import type { WatchedFolder } from '../../core/documents.ts';
import type { StartTimer, Timer } from '../../core/timers.ts';
import { type FolderFile, type ScanReport, scanFolder } from './scan-folder.ts';

interface FolderWatcherOptions {
  readonly folder: WatchedFolder;
  /** Called for the files of a scan, some at a time. */
  readonly onFiles: (files: readonly FolderFile[]) => Promise<void> | void;
  /** A scan has seen everything, or failed. */
  readonly onScanned: (result: ScanReport | Error) => Promise<void> | void;
  readonly startTimer: StartTimer;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

/** Finds changes that no event reports: those on network drives, and lost events. */
const rescanMs = 10 * 60_000;
/** A scan starts when nothing has changed for this long, so that it covers several changes. */
const settleMs = 1000;
/** Upper limit of that wait, for a folder that is never quiet. */
const maxSettleMs = 10_000;
/** Largest share of the time for scans of a folder that changes all the time. */
const maxScanShare = 0.1;
const sliceSize = 200;
/** Linux needs a watch for each folder, and limits their number. */
const maxWatches = 2000;

/** Scans a folder at the start, after changes, and from time to time. */
export class FolderWatcher {
  readonly #stop = new AbortController();
  #watchers: FSWatcher[] = [];
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  /** Of the first change that no scan has seen. */
  #changedAt: number | undefined;
  #scanMs = 0;
  #scannedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: FolderWatcherOptions) {}

  /** Scans now. */
  scan(): Promise<void> {
    this.#again = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Resolves when no scan runs. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel();
    for (const watcher of this.#watchers) watcher.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#stop.signal.aborted) {
      this.#again = false;
      this.#changedAt = undefined;
      await this.#scan();
    }
    if (this.#stop.signal.aborted) return;
    if (this.#changedAt === undefined) this.#scanAfter(rescanMs);
    else this.#scanSoon(this.#changedAt);
  }

  async #scan(): Promise<void> {
    const { folder, onFiles, onScanned, now } = this.options;
    const begunAt = now();
    let result: ScanReport | Error;
    // Each folder is watched from before it is looked through, so that no change is lost in between. The old watches are closed last: the system then keeps them.
    const old = this.#watchers;
    this.#watchers = [];
    try {
      const entered = (path: string): void => this.#watch(path);
      const files = scanFolder(folder, { signal: this.#stop.signal, entered });
      let slice: FolderFile[] = [];
      let next = await files.next();
      for (; !next.done; next = await files.next()) {
        slice.push(next.value);
        if (slice.length < sliceSize) continue;
        await onFiles(slice);
        slice = [];
      }
      await onFiles(slice);
      result = next.value;
    } catch (error) {
      result = error as Error;
    }
    for (const watcher of old) watcher.close();
    this.#scannedAt = now();
    this.#scanMs = this.#scannedAt - begunAt;
    if (!this.#stop.signal.aborted) await onScanned(result);
  }

  #scanAfter(milliseconds: number): void {
    this.#timer?.cancel();
    this.#timer = this.options.startTimer(milliseconds, () => void this.scan());
  }

  /** When the folder is quiet, but not much later than the first change: a log that grows all the time would postpone the scan forever. */
  #scanSoon(changedAt: number): void {
    const now = this.options.now();
    const quietAt = Math.min(now + settleMs, changedAt + maxSettleMs);
    this.#scanAfter(Math.max(0, quietAt - now, this.#scannedAt + this.#scanMs / maxScanShare - now));
  }

  /** One watch for all folders where the system has that; Linux has one for each. */
  #watch(path: string): void {
    const isRecursive = process.platform === 'darwin' || process.platform === 'win32';
    if (this.#stop.signal.aborted || this.#watchers.length >= maxWatches) return;
    if (isRecursive && path !== this.options.folder.path) return;
    try {
      const watcher = watch(path, { recursive: isRecursive, persistent: false }, () => this.#changed());
      watcher.on('error', () => watcher.close());
      this.#watchers.push(watcher);
    } catch {
      // Without a watch, the next scan sees its changes.
    }
  }

  #changed(): void {
    if (this.#stop.signal.aborted) return;
    this.#changedAt ??= this.options.now();
    // What changes during a scan is seen by a later one, so that each ends.
    if (!this.#running) this.#scanSoon(this.#changedAt);
  }
}
