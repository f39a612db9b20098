import { open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** What people wrote is nobody else's business. */
const usualMode = 0o600;

/**
 * The file is the old one or the new one at every moment, also for whoever finds it after a loss of power: the new one is
 * on the disk before it takes the name.
 */
export async function replaceFile(path: string, chunks: readonly Uint8Array[]): Promise<void> {
  const mode = await modeOf(path);
  const part = partName(path, process.pid);
  try {
    await rm(part, { force: true });
    const handle = await open(part, 'wx', usualMode);
    try {
      await writeFile(handle, chunks);
      await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, path);
  } catch (error) {
    // On a full disk a part would keep it full.
    await rm(part, { force: true }).catch(() => undefined);
    throw error;
  }
  await settleName(dirname(path));
}

/** Of a process that was killed while it wrote. */
export async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const owner = ownerOf(name, basename(path));
    if (owner === undefined || (owner !== process.pid && isAlive(owner))) continue;
    await rm(join(folder, name), { force: true }).catch(() => undefined);
  }
}

function partName(path: string, owner: number): string {
  return `${path}.${owner}.part`;
}

function ownerOf(name: string, file: string): number | undefined {
  const owner = Number(/\.(\d{1,10})\.part$/.exec(name)?.[1]);
  return Number.isInteger(owner) && name === partName(file, owner) ? owner : undefined;
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    // It is somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function modeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ mode }) => mode & 0o777,
    () => usualMode,
  );
}

/** The new name itself has to reach the disk as well. Not every system can do that to a folder. */
async function settleName(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    await handle.sync().finally(() => handle.close());
  } catch {
    // The file is whole either way.
  }
}
