import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Matches only our own names of the files of `--diskcache`. */
export const isSnapshotName = (name: string): boolean => /^[0-9a-f]{32}\.parley-cache$/.test(name);

/** Only for the user: the files contain chats. */
export const privately = { folder: 0o700, file: 0o600 };

/** Creates a folder and its parents. Not by `recursive`, which loops for ever under /proc. */
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

/** Throws unless files can be written there. */
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
  const stats = await stat(path).catch(() => undefined);
  return stats?.isDirectory() ?? false;
}
