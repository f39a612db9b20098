import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const beginning = 'parley-upload-';

/** A fresh folder for the files of one request, readable for this account only. Its name tells whose it is. */
export function uploadFolder(parent = tmpdir(), pid = process.pid): Promise<string> {
  return mkdtemp(join(parent, `${beginning}${pid}-`));
}

export async function removeUploads(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** What servers left behind that were ended in the hard way. Folders of those that still run are theirs. */
export async function removeLeftovers(parent = tmpdir(), alive: (pid: number) => boolean = isAlive): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  const left = names.filter((name) => {
    const pid = Number(new RegExp(`^${beginning}(\\d+)-`).exec(name)?.[1]);
    return Number.isInteger(pid) && pid > 0 && !alive(pid);
  });
  await Promise.all(left.map((name) => removeUploads(join(parent, name)).catch(() => undefined)));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
