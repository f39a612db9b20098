import { spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { limit } from './processes.ts';
import { newFolder } from './subject.ts';

/** A disk that can be filled. */
export interface SmallDisk {
  /** How it is filled, for people. */
  readonly how: string;
  readonly folder: string;
  /** `pids` are the processes that write to it. */
  fill(pids: readonly number[]): void;
  free(pids: readonly number[]): void;
  close(): void;
}

/** A file system of a few megabytes; where none can be mounted, a limit on the size of files. */
export function smallDisk(): SmallDisk {
  const folder = newFolder();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder]).status === 0;
  if (!mounted) {
    return {
      how: 'files are limited to 512 bytes (RLIMIT_FSIZE)',
      folder,
      fill: (pids) => {
        for (const pid of pids) limit(pid, '--fsize=512:');
      },
      free: (pids) => {
        for (const pid of pids) limit(pid, '--fsize=unlimited:');
      },
      close: () => {},
    };
  }
  const unmount = () => void spawnSync('umount', ['-l', folder]);
  process.once('exit', unmount);
  const filler = join(folder, 'filler');
  return {
    how: 'a full file system of 24 MB (tmpfs)',
    folder,
    fill: () => writeUntilFull(filler),
    free: () => rmSync(filler, { force: true }),
    close: unmount,
  };
}

function writeUntilFull(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (let size = 2 ** 20; size >= 1; ) {
      try {
        writeSync(file, Buffer.alloc(size));
      } catch {
        size /= 16;
      }
    }
  } finally {
    closeSync(file);
  }
}
