import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** What people wrote is nobody else's business. */
export const privately = { folder: 0o700, file: 0o600 };

/**
 * Makes the folder and those above it where they are missing. Step by step: the recursive way of the runtime tries for ever
 * where the system says of an existing folder that there is no such place for another (/proc).
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: privately.folder });
  } catch (error) {
    if (await isFolder(path)) return;
    const parent = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) throw error;
    if (await isFolder(parent)) throw error;
    await makeFolder(parent);
    await makeFolder(path);
  }
}

/** Throws unless files can be written there: better at the start than after hours of use. */
export async function tryFolder(path: string, processId: number): Promise<void> {
  await makeFolder(path);
  const trial = join(path, `trial.${processId}.part`);
  try {
    await writeFile(trial, 'x', { mode: privately.file });
  } finally {
    await rm(trial, { force: true });
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
