import { readdirSync, statSync } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NewerFile } from '../../../../core/file-version.ts';
import type { StoreHealth } from '../../../../core/text-service.ts';
import { isSnapshotName, makeFolder, privately } from '../../cache-folder.ts';
import { overLimit, type Snapshot, type SnapshotEntry, type SnapshotStore } from '../memory/snapshot.ts';
import { addPart, checksumOf, pieceBytes, piecewiseChecksum, plainChecksum } from './checksum.ts';

export interface DiskStoreOptions {
  readonly folder: string;
  /** Limit of all snapshots in the folder, including those of other models and servers. */
  readonly bytes: number;
  /** Identifies the model and the settings that its state depends on: snapshots with another fingerprint are never read. */
  readonly fingerprint: string;
  readonly now: () => number;
  readonly processes: Processes;
  /** Called with a sentence for the first failure of each kind. */
  readonly log: (sentence: string) => void;
}

interface SnapshotFile extends Pick<SnapshotEntry, 'id' | 'bytes' | 'usedAt'> {
  /** Undefined for a file of another model or other settings: it only counts against the limit. */
  readonly outline: Outline | undefined;
}

/** Listing more files at every write would take too long. */
const maxFiles = 10_000;
/** The coarsest resolution of file times, that of FAT. */
const timeResolutionMs = 2000;

/** Snapshots on disk, one file each. Damaged, foreign and deleted files are ignored; a failing disk is reported and costs only time. */
export class DiskStore implements SnapshotStore {
  readonly #files = new Map<string, SnapshotFile>();
  /** Files of a later version of Parley. */
  readonly #newer = new Set<string>();
  readonly #failures: Failures;
  /** Modification time of the folder when it was last listed. */
  #changedAt: number | undefined;

  private constructor(private readonly options: DiskStoreOptions) {
    this.#failures = new Failures((reason) => options.log(`--diskcache ${options.folder}: ${reason}`));
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
      // The folder may have been emptied, or another server has evicted the file.
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

  /** Rejects if the snapshot could not be written; that is counted already. */
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

  async #writeFile({ parts, bytes, tokens, checkpoints }: ReturnType<typeof bodyOf>): Promise<void> {
    const { folder, fingerprint, now, processes } = this.options;
    const outline = { tokens, checkpoints };
    const sum = await checksumOf(parts);
    const id = snapshotName(sum);
    if (this.#newer.has(id)) return;
    const part = join(folder, partName(id, processes.own));
    await makeFolder(folder);
    try {
      await writeFile(part, [headerOf(outline, fingerprint, sum), ...parts], { mode: privately.file });
      await rename(part, join(folder, id));
    } catch (error) {
      // A partial file would keep a full disk full.
      await rm(part, { force: true }).catch(() => undefined);
      throw error;
    }
    const usedAt = now();
    this.#files.set(id, { id, bytes, usedAt, outline });
    await markUsed(join(folder, id), usedAt);
  }

  /** Lists the folder; of new files only the headers are read. */
  async #survey(): Promise<void> {
    const { folder, now } = this.options;
    const listed = await readdir(folder, { withFileTypes: true });
    const named = listed.filter((one) => one.isFile() && isSnapshotName(one.name)).map(({ name }) => name);
    const names = named.filter((name) => !this.#newer.has(name));
    const present = new Set(names);
    for (const id of this.#files.keys()) if (!present.has(id)) this.#files.delete(id);
    for (const id of names) {
      const path = join(folder, id);
      const known = this.#files.get(id);
      const stats = await stat(path).catch(() => undefined);
      if (!stats) {
        this.#files.delete(id);
        continue;
      }
      const bytes = stats.size;
      // A time in the future would keep a file for ever.
      const usedAt = Math.min(stats.mtimeMs, now());
      const same = known && known.bytes === bytes;
      const outline = same ? known.outline : await this.#outlineOf(id);
      if (this.#newer.has(id)) continue;
      this.#files.set(id, { id, bytes, usedAt: Math.max(usedAt, same ? known.usedAt : 0), outline });
    }
  }

  async #outlineOf(id: string): Promise<Outline | undefined> {
    const { folder, fingerprint, log } = this.options;
    try {
      return await readOutline(join(folder, id), fingerprint);
    } catch (error) {
      if (!(error instanceof NewerFile)) return undefined;
      if (this.#newer.size === 0) log(`--diskcache ${folder}: snapshots of a newer version of Parley are left alone.`);
      this.#newer.add(id);
      return undefined;
    }
  }

  async #prune(): Promise<void> {
    const limits = { bytes: this.options.bytes, count: maxFiles };
    for (const { id } of overLimit([...this.#files.values()], limits)) await this.remove(id);
  }

  async #removeLeftOvers(): Promise<void> {
    const { folder, processes, now } = this.options;
    for (const name of (await readdir(folder)).filter(isPartName)) {
      const path = join(folder, name);
      const stats = await stat(path).catch(() => undefined);
      if (stats && isLeftOver(name, now() - stats.mtimeMs, processes)) await rm(path, { force: true });
    }
  }

  /** Drops the entries of deleted files, so that their sequences are saved again. */
  #dropMissing(): void {
    const { folder, now } = this.options;
    try {
      const { mtimeMs } = statSync(folder);
      if (mtimeMs === this.#changedAt) return;
      const present = new Set(readdirSync(folder));
      for (const id of this.#files.keys()) if (!present.has(id)) this.#files.delete(id);
      // File times are coarse: right after a change, another one may have the same time.
      if (Math.abs(now() - mtimeMs) > timeResolutionMs) this.#changedAt = mtimeMs;
    } catch {
      this.#files.clear();
    }
  }
}

/** Sets the modification time, by which later starts and other servers know the least recently used file. */
async function markUsed(path: string, usedAt: number): Promise<void> {
  await utimes(path, usedAt / 1000, usedAt / 1000).catch(() => undefined);
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';
const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`;

/** Counts failures, and reports each kind once. */
class Failures {
  readonly #reported = new Set<string>();
  count = 0;
  last: string | null = null;

  constructor(private readonly report: (sentence: string) => void) {}

  add(kind: string, reason: string): void {
    this.count += 1;
    this.last = reason;
    if (this.#reported.has(kind)) return;
    this.#reported.add(kind);
    this.report(reason);
  }

  /** `what` is the beginning of the sentence, such as "A snapshot could not be written". */
  addError(what: string, error: unknown): void {
    const { code, message } = error as NodeJS.ErrnoException;
    this.add(`${what} ${code}`, `${what}: ${message}`);
  }
}

/** The processes that may share the folder. */
interface Processes {
  readonly own: number;
  readonly alive: (id: number) => boolean;
}

const ending = '.parley-cache';
/** Process ids are reused: partial files older than this are removed in any case. */
const maxWriteMs = 24 * 60 * 60 * 1000;

export const snapshotName = (sum: string): string => `${sum.slice(0, 32)}${ending}`;
export const partName = (name: string, process: number): string => `${name}.${process}.part`;

export const isPartName = (name: string): boolean => /^([0-9a-f]{32}\.parley-cache|trial)(\.\d+)?\.part$/.test(name);

/** Whether a partial file was left by a process that ended while it wrote. This process does not write yet. */
function isLeftOver(name: string, ageMs: number, { own, alive }: Processes): boolean {
  const process = /\.(?<process>\d+)\.part$/.exec(name)?.groups?.process;
  if (ageMs > maxWriteMs) return true;
  return process !== undefined && (Number(process) === own || !alive(Number(process)));
}

/** The part of a file before its states. */
type Outline = Pick<SnapshotEntry, 'tokens' | 'checkpoints'>;

const format = 'PARLEYKV';
/** One digit. */
const version = 2;
const magic = `${format}${version}`;
/** Magic, fingerprint (hex), checksum of all that follows (hex), number of tokens, number of checkpoints. */
const headerBytes = magic.length + 64 + 64 + 8;
/** Enough for the same prompt again and for another last turn; each can be as large as the rest of the file. */
const maxCheckpoints = 2;
/** The table of checkpoints has 32 bits for each size. */
const maxCheckpointBytes = 2 ** 32 - 1;
/** No context is longer: a header that claims more is damaged, and nothing is allocated for it. */
const maxTokens = 2 ** 26;

/** The tokens, a table of the checkpoints (index, size), the state, and the states of the checkpoints; `bytes` is the file's size. */
export function bodyOf({ tokens, state, checkpoints: all }: Snapshot) {
  const checkpoints = all.filter((one) => one.state.length <= maxCheckpointBytes).slice(-maxCheckpoints);
  const table = Uint32Array.from(checkpoints.flatMap((one) => [one.index, one.state.length]));
  const front = Buffer.concat([bytesOf(tokens), bytesOf(table)]);
  const parts = [front, state, ...checkpoints.map((one) => one.state)];
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, headerBytes);
  return { tokens, checkpoints: checkpoints.map(({ index }) => index), parts, bytes };
}

export function headerOf({ tokens, checkpoints }: Outline, fingerprint: string, sum: string): Uint8Array {
  const counts = bytesOf(Uint32Array.of(tokens.length, checkpoints.length));
  return Buffer.concat([Buffer.from(magic), Buffer.from(fingerprint), Buffer.from(sum), counts]);
}

/** Reads the header of a file; undefined if it is not a snapshot with this fingerprint. Throws `NewerFile`. */
export async function readOutline(path: string, fingerprint: string): Promise<Outline | undefined> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const head = Buffer.alloc(headerBytes);
    await file.read(head, 0, headerBytes, 0);
    const start = head.toString('latin1', 0, magic.length + 64);
    const fileVersion = Number(start.charAt(format.length));
    if (start.startsWith(format) && fileVersion > version) throw new NewerFile(fileVersion, version);
    if (!start.startsWith(format) || !(fileVersion >= 1) || !start.endsWith(fingerprint)) return undefined;
    const count = { tokens: head.readUInt32LE(headerBytes - 8), checkpoints: head.readUInt32LE(headerBytes - 4) };
    if (count.tokens > maxTokens || headerBytes + count.tokens * 4 + count.checkpoints * 8 > size) return undefined;
    const tokens = new Int32Array(count.tokens);
    await file.read(bytesOf(tokens), 0, tokens.byteLength, headerBytes);
    const table = new Uint32Array(2 * count.checkpoints);
    await file.read(bytesOf(table), 0, table.byteLength, headerBytes + tokens.byteLength);
    return { tokens, checkpoints: [...table].filter((_, index) => index % 2 === 0) };
  } finally {
    await file.close();
  }
}

/** Reads the whole file in pieces, since the system reads at most 2 GB at a time; undefined if it is damaged. */
export async function readSnapshot(
  path: string,
  { tokens, checkpoints }: Outline,
  // Not filled with zeros: all of it is read.
  allocate: (bytes: number) => Uint8Array = (bytes) => new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer),
): Promise<Snapshot | undefined> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const header = Buffer.alloc(headerBytes);
    const front = Buffer.alloc(tokens.length * 4 + checkpoints.length * 8);
    if (size < headerBytes + front.length) return undefined;
    await readPieces(file, header, 0);
    await readPieces(file, front, headerBytes);
    if (!front.subarray(0, tokens.byteLength).equals(bytesOf(tokens))) return undefined;
    const sizes = stateSizes(size - headerBytes - front.length, front.subarray(tokens.length * 4));
    if (!sizes) return undefined;
    const sum = header.toString('latin1', 0, magic.length) === magic ? piecewiseChecksum() : plainChecksum();
    await addPart(sum, front);
    const states: Uint8Array[] = [];
    let position = headerBytes + front.length;
    for (const bytes of sizes) {
      const state = allocate(bytes);
      if (!(await readPieces(file, state, position, (piece) => sum.add(piece)))) return undefined;
      states.push(state);
      position += bytes;
    }
    if ((await sum.digest()) !== header.toString('latin1', magic.length + 64, magic.length + 128)) return undefined;
    const [state, ...others] = states as [Uint8Array, ...Uint8Array[]];
    const stateOf = (entry: number) => others[entry] ?? new Uint8Array(0);
    return { tokens, state, checkpoints: checkpoints.map((index, entry) => ({ index, state: stateOf(entry) })) };
  } finally {
    await file.close();
  }
}

/** Sizes of the state and of those of the checkpoints; undefined if the table does not fit the file. */
function stateSizes(bytes: number, table: Buffer): readonly number[] | undefined {
  const others = Array.from({ length: table.length / 8 }, (_, entry) => table.readUInt32LE(8 * entry + 4));
  const own = others.reduce((left, size) => left - size, bytes);
  return own < 0 ? undefined : [own, ...others];
}

/** Fills `into` from a position of the file, calling `seen` with each piece while the next is read; false if the file ends before. */
async function readPieces(
  file: FileHandle,
  into: Uint8Array,
  position: number,
  seen?: (piece: Uint8Array) => Promise<void>,
): Promise<boolean> {
  const readAt = async (start: number): Promise<Uint8Array | undefined> => {
    const piece = into.subarray(start, Math.min(start + pieceBytes, into.length));
    for (let filled = 0; filled < piece.length; ) {
      const { bytesRead } = await file.read(piece, filled, piece.length - filled, position + start + filled);
      if (bytesRead === 0) return undefined;
      filled += bytesRead;
    }
    return piece;
  };
  let piece = await readAt(0);
  for (let start = 0; start < into.length; ) {
    if (!piece) return false;
    start += piece.length;
    [piece] = await Promise.all([readAt(start), seen?.(piece)]);
  }
  return true;
}

function bytesOf(list: Int32Array | Uint32Array): Buffer {
  return Buffer.from(list.buffer, list.byteOffset, list.byteLength);
}
