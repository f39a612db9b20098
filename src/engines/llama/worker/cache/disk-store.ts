import { readdirSync, statSync } from 'node:fs';
import { readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreHealth } from '../../../../core/text-service.ts';
import { makeFolder, privately } from '../../cache-folder.ts';
import { overLimit, type Snapshot, type SnapshotEntry, type SnapshotStore } from '../memory/snapshot.ts';
import {
  bodyOf,
  checksum,
  headerOf,
  type Outline,
  readOutline,
  readSnapshot,
  type SnapshotBody,
} from './snapshot-file.ts';

export interface DiskStoreOptions {
  readonly folder: string;
  /** What all snapshots in the folder may take together, those of other models and servers included. */
  readonly bytes: number;
  /** Names the model and every setting that shapes its state: a snapshot of another one is never read. */
  readonly fingerprint: string;
  readonly now: () => number;
  readonly processes: Processes;
  /** Hears the first failure of each kind, in a sentence. */
  readonly tell: (sentence: string) => void;
}

interface AtomicFile {
  readonly id: string;
  readonly bytes: number;
  readonly usedAt: number;
  /** Undefined for a file of another model or other settings: it only takes room. */
  readonly outline: Outline | undefined;
}

const mostFiles = 10_000;
const coarseMs = 2000;

/**
 * Snapshots on disk: they outlive restarts and model swaps. Each is one file that is written beside its place and then moved
 * there, so that a crash leaves no half ones; whatever is damaged, foreign or deleted by somebody is simply not there. A disk
 * that fails costs time and nothing else, so failures are counted and told.
 */
export class DiskStore implements SnapshotStore {
  readonly #files = new Map<string, AtomicFile>();
  readonly #failures: Failures;
  /** Of the folder, when it was last looked into: it changes with every file that comes or goes. */
  #changedAt: number | undefined;

  private constructor(private readonly options: DiskStoreOptions) {
    this.#failures = new Failures((reason) => options.tell(`--diskcache ${options.folder}: ${reason}`));
  }

  static async open(options: DiskStoreOptions): Promise<DiskStore> {
    const store = new DiskStore(options);
    try {
      await makeFolder(options.folder);
      await store.#removeLeftOvers();
      await store.#survey();
      await store.#prune();
    } catch (error) {
      store.#failures.addError('The folder cannot be used', error);
    }
    return store;
  }

  entries(): readonly SnapshotEntry[] {
    this.#dropMissing();
    return [...this.#files.values()].flatMap(({ outline, ...file }) => (outline ? [{ ...file, ...outline }] : []));
  }

  health(): StoreHealth {
    this.#dropMissing();
    const others = [...this.#files.values()].filter(({ outline }) => !outline);
    const { count: failures, last: lastFailure } = this.#failures;
    return { otherBytes: others.reduce((sum, { bytes }) => sum + bytes, 0), failures, lastFailure };
  }

  async read(id: string): Promise<Snapshot | undefined> {
    const file = this.#files.get(id);
    if (!file?.outline) return undefined;
    const path = join(this.options.folder, id);
    try {
      const snapshot = await readSnapshot(path, file.outline);
      if (snapshot) {
        const usedAt = this.options.now();
        this.#files.set(id, { ...file, usedAt });
        await markUsed(path, usedAt);
        return snapshot;
      }
      this.#failures.add('damaged', 'A snapshot was damaged and is removed');
      await this.remove(id);
    } catch (error) {
      // Somebody may have emptied the folder, or another server needed the room.
      if (!isMissing(error)) this.#failures.addError('A snapshot could not be read', error);
      this.#files.delete(id);
    }
    return undefined;
  }

  async remove(id: string): Promise<void> {
    if (!this.#files.has(id)) return;
    try {
      await rm(join(this.options.folder, id), { force: true });
      this.#files.delete(id);
    } catch (error) {
      this.#failures.addError('A snapshot could not be removed', error);
    }
  }

  /** Rejects when the snapshot is not on the disk afterwards; that is already counted then. */
  async write(snapshot: Snapshot): Promise<void> {
    const body = bodyOf(snapshot);
    if (body.bytes > this.options.bytes) {
      const reason = `A snapshot of ${megabytes(body.bytes)} is larger than the limit of ${megabytes(this.options.bytes)}`;
      this.#failures.add('too large', reason);
      throw new Error(reason);
    }
    try {
      await this.#writeFile(body);
    } catch (error) {
      this.#failures.addError('A snapshot could not be written', error);
      throw error;
    }
    await this.#survey().catch((error) => this.#failures.addError('The folder could not be read', error));
    await this.#prune();
  }

  async #writeFile({ parts, bytes, tokens, checkpoints }: SnapshotBody): Promise<void> {
    const { folder, fingerprint, now, processes } = this.options;
    const outline = { tokens, checkpoints };
    const sum = await checksum(parts);
    const id = snapshotName(sum);
    const part = join(folder, partName(id, processes.own));
    await makeFolder(folder);
    try {
      await writeFile(part, [headerOf(outline, fingerprint, sum), ...parts], { mode: privately.file });
      await rename(part, join(folder, id));
    } catch (error) {
      // On a full disk a part would keep it full.
      await rm(part, { force: true }).catch(() => undefined);
      throw error;
    }
    const usedAt = now();
    this.#files.set(id, { id, bytes, usedAt, outline });
    await markUsed(join(folder, id), usedAt);
  }

  /** Finds out what lies in the folder now; of files that are new here only the beginnings are read. */
  async #survey(): Promise<void> {
    const { folder, fingerprint, now } = this.options;
    const listed = await readdir(folder, { withFileTypes: true });
    const names = listed.filter((one) => one.isFile() && isSnapshotName(one.name)).map(({ name }) => name);
    const present = new Set(names);
    for (const id of this.#files.keys()) if (!present.has(id)) this.#files.delete(id);
    for (const id of names) {
      const path = join(folder, id);
      const known = this.#files.get(id);
      const found = await stat(path).catch(() => undefined);
      if (!found) {
        this.#files.delete(id);
        continue;
      }
      const bytes = found.size;
      // A time that is still to come would keep a file for ever.
      const usedAt = Math.min(found.mtimeMs, now());
      const same = known && known.bytes === bytes;
      const outline = same ? known.outline : await readOutline(path, fingerprint).catch(() => undefined);
      this.#files.set(id, { id, bytes, usedAt: Math.max(usedAt, same ? known.usedAt : 0), outline });
    }
  }

  async #prune(): Promise<void> {
    const limits = { bytes: this.options.bytes, count: mostFiles };
    for (const { id } of overLimit([...this.#files.values()], limits)) await this.remove(id);
  }

  async #removeLeftOvers(): Promise<void> {
    const { folder, processes, now } = this.options;
    for (const name of (await readdir(folder)).filter(isPartName)) {
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      if (found && isLeftOver(name, now() - found.mtimeMs, processes)) await rm(path, { force: true });
    }
  }

  /** Snapshots that somebody deleted are forgotten at once: what they held is worth keeping again. */
  #dropMissing(): void {
    const { folder, now } = this.options;
    try {
      const { mtimeMs } = statSync(folder);
      if (mtimeMs === this.#changedAt) return;
      const present = new Set(readdirSync(folder));
      for (const id of this.#files.keys()) if (!present.has(id)) this.#files.delete(id);
      // Clocks of folders are coarse: right after a change another one may bear the same time.
      if (now() - mtimeMs > coarseMs) this.#changedAt = mtimeMs;
    } catch {
      this.#files.clear();
    }
  }
}

/** The time of a file tells the next start, and other servers, what was not needed for longest. */
async function markUsed(path: string, usedAt: number): Promise<void> {
  await utimes(path, usedAt / 1000, usedAt / 1000).catch(() => undefined);
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';
const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`;

/** Failures that cost time and no answer: they are counted, and each kind is told once. */
class Failures {
  readonly #told = new Set<string>();
  #count = 0;
  #last: string | null = null;

  constructor(private readonly tell: (sentence: string) => void) {}

  get count(): number {
    return this.#count;
  }

  get last(): string | null {
    return this.#last;
  }

  add(kind: string, reason: string): void {
    this.#count += 1;
    this.#last = reason;
    if (this.#told.has(kind)) return;
    this.#told.add(kind);
    this.tell(reason);
  }

  /** `what` is the beginning of the sentence, such as "A snapshot could not be written". */
  addError(what: string, error: unknown): void {
    const { code, message } = error as NodeJS.ErrnoException;
    this.add(`${what} ${code}`, `${what}: ${message}`);
  }
}

/** Who writes files: this process, and others that may share the folder. */
interface Processes {
  readonly own: number;
  readonly alive: (id: number) => boolean;
}

const ending = '.parley-cache';
/** A number that was given again to some other process would keep a part for ever. */
const longestWriteMs = 24 * 60 * 60 * 1000;

export const snapshotName = (sum: string): string => `${sum.slice(0, 32)}${ending}`;
export const partName = (name: string, process: number): string => `${name}.${process}.part`;

/** Only names that we give: whatever else lies in the folder is somebody's. */
export const isSnapshotName = (name: string): boolean => /^[0-9a-f]{32}\.parley-cache$/.test(name);
export const isPartName = (name: string): boolean => /^([0-9a-f]{32}\.parley-cache|trial)(\.\d+)?\.part$/.test(name);

/** Whether a part was left by a process that ended while it wrote. Nothing of ours is being written yet. */
function isLeftOver(name: string, ageMs: number, { own, alive }: Processes): boolean {
  const process = /\.(?<process>\d+)\.part$/.exec(name)?.groups?.process;
  if (ageMs > longestWriteMs) return true;
  return process !== undefined && (Number(process) === own || !alive(Number(process)));
}

/** A process of another user refuses the signal, and lives. */
export function isAlive(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
