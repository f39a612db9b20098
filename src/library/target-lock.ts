import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { isAlive } from '../core/is-alive.ts';
import { DownloadError } from './download-error.ts';

/** Tells this process from an earlier one with the same id, which containers often have. */
const ownRun = randomUUID();

/**
 * Runs the work while no other download of the same target runs, in this process or another one. Rejects if one does. The lock is
 * a file beside the target; that of a process that has ended does not count.
 */
export async function withTargetLock<Result>(target: string, work: () => Promise<Result>): Promise<Result> {
  const lock = `${target}.lock`;
  await take(lock, target);
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function take(lock: string, target: string): Promise<void> {
  const own = `${process.pid} ${ownRun}`;
  for (;;) {
    try {
      const file = await open(lock, 'wx');
      await file.writeFile(own).finally(() => file.close());
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = await readFile(lock, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return undefined;
    });
    if (holder === undefined) continue;
    if (isHeld(holder)) throw busy(target, lock);
    // Of several processes that find the same old lock, the rename succeeds for one.
    const aside = `${lock}.${randomUUID()}`;
    const moved = await rename(lock, aside).then(
      () => true,
      () => false,
    );
    if (moved && (await readFile(aside, 'utf8')) !== holder) {
      await rename(aside, lock);
      throw busy(target, lock);
    }
    await rm(aside, { force: true });
  }
}

function isHeld(holder: string): boolean {
  const [, pid, run] = /^(\d+) (.+)$/.exec(holder) ?? [];
  // Created, but not written yet.
  if (pid === undefined) return true;
  return Number(pid) === process.pid ? run === ownRun : isAlive(Number(pid));
}

function busy(target: string, lock: string): DownloadError {
  return new DownloadError(
    `${target} is being downloaded already. Wait for that download, or delete ${lock} if there is none`,
  );
}
