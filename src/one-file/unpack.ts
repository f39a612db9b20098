import { createHash, type Hash } from 'node:crypto';
import { createReadStream, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

interface PackedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly executable: boolean;
}

/** What the one-file program contains: its files one after the other, and the SHA-256 of all of them. */
export interface Contents {
  readonly sha256: string;
  readonly files: readonly PackedFile[];
}

interface UnpackOptions {
  /** Holds one folder per version, and next to each a file for every process that runs from it. */
  readonly folder: string;
  readonly pid: number;
  readonly isAlive: (pid: number) => boolean;
  readonly progress: (share: number) => void;
}

/** Damage, with what to do; other errors are of the file system. */
export class UnpackError extends Error {
  override readonly name = 'UnpackError';
}

/** Where the files of these contents are unpacked. */
export function programFolder(folder: string, { sha256 }: Contents): string {
  return join(folder, sha256.slice(0, 32));
}

/**
 * Unpacks the files unless they are there already, and removes other versions that no process uses. Other processes may run from
 * the folder: a damaged file is replaced by a rename, and the folder itself is never removed.
 */
export async function unpackProgram(
  contents: Contents,
  bytes: () => AsyncIterable<Uint8Array>,
  { folder, pid, isAlive, progress }: UnpackOptions,
): Promise<string> {
  const program = programFolder(folder, contents);
  // Before anything else, so that a newer version that starts at the same time does not remove it.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(`${program}.running-${pid}`, '');
  const damaged = await damagedFiles(program, contents);
  if (damaged.size === 0) return program;
  const growing = `${program}.part-${pid}`;
  try {
    await rm(growing, { recursive: true, force: true });
    await writeFiles(growing, damaged, contents, bytes(), progress);
    await putInPlace(growing, program, contents);
  } finally {
    await rm(growing, { recursive: true, force: true });
  }
  removeOthers(folder, program, isAlive);
  return program;
}

/**
 * Writes the files of an unpacked program through to the disk, in the background because this may take seconds. A file that is not
 * settled when the power fails, or the process ends, is checked by its hash at the next start.
 */
export async function settleFiles(program: string, { files }: Contents): Promise<void> {
  for (const { path } of files) {
    const full = join(program, path);
    if (statSync(full, { throwIfNoEntry: false })?.mtimeMs === settledAt.getTime()) continue;
    const handle = await open(full, 'r+');
    try {
      await handle.sync();
      await handle.utimes(settledAt, settledAt);
    } finally {
      await handle.close();
    }
  }
}

/** To be called when the process ends. */
export function endRun(program: string, pid: number): void {
  rmSync(`${program}.running-${pid}`, { force: true });
}

/** Modification time of files that are right and on the disk. In even seconds, because FAT keeps no others. */
const settledAt = new Date('2001-01-01T00:00:00Z');

/** Files that are missing or differ. Reads only those that were changed since they were settled. */
async function damagedFiles(program: string, { files }: Contents): Promise<ReadonlySet<PackedFile>> {
  const damaged = new Set<PackedFile>();
  for (const file of files) {
    const path = join(program, file.path);
    const facts = statSync(path, { throwIfNoEntry: false });
    if (!facts?.isFile() || facts.size !== file.bytes) damaged.add(file);
    else if (facts.mtimeMs !== settledAt.getTime() && (await hashOf(path)) !== file.sha256) damaged.add(file);
  }
  return damaged;
}

/** Undefined for a file that cannot be read. */
async function hashOf(path: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
    return hash.digest('hex');
  } catch {
    return undefined;
  }
}

/** The whole folder by one rename, or only what is damaged in a folder that is there. */
async function putInPlace(growing: string, program: string, contents: Contents): Promise<void> {
  if (!statSync(program, { throwIfNoEntry: false })) {
    const placed = await rename(growing, program).then(
      () => true,
      // Another process may have been first.
      () => false,
    );
    if (placed) return syncFolder(dirname(program));
  }
  for (const { path } of await damagedFiles(program, contents)) {
    const target = join(program, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await rename(join(growing, path), target).catch((error: Error) => {
      throw new Error(
        `${target} is damaged and cannot be replaced (${error.message}). End other Parley programs first`,
      );
    });
    await syncFolder(dirname(target));
  }
}

/** Not every system can sync a folder. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    await handle.sync().finally(() => handle.close());
  } catch {
    // The files themselves are synced.
  }
}

/** Writes the damaged ones of the files whose bytes come one after the other, and checks all of them. */
async function writeFiles(
  folder: string,
  damaged: ReadonlySet<PackedFile>,
  { files }: Contents,
  bytes: AsyncIterable<Uint8Array>,
  progress: UnpackOptions['progress'],
): Promise<void> {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  const queue = files[Symbol.iterator]();
  let current: { readonly file: PackedFile; readonly hash: Hash; readonly handle: FileHandle | undefined } | undefined;
  let left = 0;
  let read = 0;
  /** Closes the present file, and opens the next one that has bytes; makes the empty ones before it. */
  const openNext = async (): Promise<void> => {
    while (left === 0) {
      await current?.handle?.close();
      if (current && current.hash.digest('hex') !== current.file.sha256) throw damagedArchive();
      current = undefined;
      const { value: file } = queue.next();
      if (!file) return;
      let handle: FileHandle | undefined;
      if (damaged.has(file)) {
        const path = join(folder, file.path);
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        handle = await open(path, 'wx', file.executable ? 0o755 : 0o644);
      }
      current = { file, hash: createHash('sha256'), handle };
      left = file.bytes;
    }
  };
  try {
    await openNext();
    for await (const chunk of readable(bytes)) {
      for (let at = 0; at < chunk.length; ) {
        if (!current) throw damagedArchive();
        const part = chunk.subarray(at, at + left);
        current.hash.update(part);
        await current.handle?.writeFile(part);
        at += part.length;
        left -= part.length;
        await openNext();
      }
      read += chunk.length;
      progress(read / total);
    }
    if (current) throw damagedArchive();
  } finally {
    await current?.handle?.close();
  }
}

function damagedArchive(): UnpackError {
  return new UnpackError('the file of the program is damaged; download it again');
}

/** What cannot be decompressed is damaged. */
async function* readable(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* bytes;
  } catch {
    throw damagedArchive();
  }
}

const sideFile = /^(\w+)\.(running|part)-(\d+)$/;

/** Removes what other versions have left, except those that a running process uses. */
function removeOthers(folder: string, program: string, isAlive: UnpackOptions['isAlive']): void {
  const names = readdirSync(folder);
  const used = new Set([program]);
  for (const name of names) {
    const [, version = '', , pid] = sideFile.exec(name) ?? [];
    if (pid === undefined) continue;
    if (isAlive(Number(pid))) used.add(join(folder, version)).add(join(folder, name));
  }
  for (const name of names) {
    const path = join(folder, name);
    if (!used.has(path)) rmSync(path, { recursive: true, force: true });
  }
}
