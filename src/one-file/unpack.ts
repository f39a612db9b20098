import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface PackedFile {
  readonly path: string;
  readonly bytes: number;
  readonly executable: boolean;
}

/** What the one-file program contains: its files one after the other, and the SHA-256 of all of them. */
export interface Contents {
  readonly sha256: string;
  readonly files: readonly PackedFile[];
}

export interface UnpackParts {
  /** Holds one folder per version, and beside each a file for every process that runs from it. */
  readonly folder: string;
  readonly pid: number;
  readonly isAlive: (pid: number) => boolean;
  readonly progress: (share: number) => void;
}

/** Where the files of these contents are unpacked. */
export function programFolder(folder: string, { sha256 }: Contents): string {
  return join(folder, sha256.slice(0, 32));
}

/** Unpacks the files unless they are there already, and removes other versions that no process uses. */
export async function unpackProgram(
  contents: Contents,
  bytes: () => AsyncIterable<Uint8Array>,
  { folder, pid, isAlive, progress }: UnpackParts,
): Promise<string> {
  const program = programFolder(folder, contents);
  // Before anything else, so that a newer version that starts at the same time does not remove it.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(`${program}.running-${pid}`, '');
  if (isWhole(program, contents)) return program;
  const growing = `${program}.part-${pid}`;
  try {
    await writeFiles(growing, contents, bytes(), progress);
    await rm(program, { recursive: true, force: true });
    await rename(growing, program).catch((error: unknown) => {
      // Another process has unpacked the same files in the meantime.
      if (!isWhole(program, contents)) throw error;
    });
  } finally {
    await rm(growing, { recursive: true, force: true });
  }
  removeOthers(folder, program, isAlive);
  return program;
}

/** To be called when the process ends. */
export function endRun(program: string, pid: number): void {
  rmSync(`${program}.running-${pid}`, { force: true });
}

/** Sizes only: the hash was checked before the folder got its name. */
function isWhole(program: string, { files }: Contents): boolean {
  return files.every(({ path, bytes }) => statSync(join(program, path), { throwIfNoEntry: false })?.size === bytes);
}

async function writeFiles(
  folder: string,
  { files, sha256 }: Contents,
  bytes: AsyncIterable<Uint8Array>,
  progress: UnpackParts['progress'],
): Promise<void> {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  const hash = createHash('sha256');
  const queue = files[Symbol.iterator]();
  let handle: FileHandle | undefined;
  let left = 0;
  let written = 0;
  /** Opens the next file that has bytes, and makes the empty ones before it. */
  const openNext = async (): Promise<void> => {
    while (left === 0) {
      await handle?.close();
      handle = undefined;
      const next = queue.next();
      if (next.done) return;
      const path = join(folder, next.value.path);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      handle = await open(path, 'wx', next.value.executable ? 0o755 : 0o644);
      left = next.value.bytes;
    }
  };
  try {
    await openNext();
    for await (const chunk of bytes) {
      hash.update(chunk);
      for (let at = 0; at < chunk.length && handle; ) {
        const part = chunk.subarray(at, at + left);
        await handle.writeFile(part);
        at += part.length;
        left -= part.length;
        await openNext();
      }
      written += chunk.length;
      progress(written / total);
    }
  } finally {
    await handle?.close();
  }
  if (written !== total || hash.digest('hex') !== sha256) {
    throw new Error('the file of the program is damaged; download it again');
  }
}

const sideFile = /^(\w+)\.(running|part)-(\d+)$/;

/** Removes what other versions have left, except those that a running process uses. */
function removeOthers(folder: string, program: string, isAlive: UnpackParts['isAlive']): void {
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
