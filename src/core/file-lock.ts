import { createHash, randomBytes } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { attempt } from './attempt.ts';
import { isAlive } from './processes.ts';

interface LockClock {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly pause: (milliseconds: number) => Promise<unknown>;
}

interface LockOptions {
  readonly clock?: LockClock;
  /** Instead of waiting for a holder that is running: the error for it. Gets the path of the lock, and the process id of the holder, 0 if unknown. */
  readonly refuse?: (lock: string, holder: number) => Error;
  /** The process id that others see as the holder, where it is not this one: a worker holds the lock for its server. */
  readonly holder?: number;
}

const systemClock: LockClock = { now: () => performance.now(), pause: (milliseconds) => sleep(milliseconds) };

/** The holder touches its mark this often. */
const heartbeatMs = 2000;
/** A mark that stays unchanged for this long belongs to a process that is gone. */
const staleMs = 20_000;
/** Longer than `staleMs`, and than any change of a file takes. */
const maxWaitMs = 60_000;
const retryMs = 10;

/** Marks of this process. Another one with its id is left by an earlier process that had the same id. */
const ownMarks = new Set<string>();

/**
 * Runs `work` while nothing else, in this or another process, runs work for the same path. Waits for its turn, unless `refuse` is
 * given.
 *
 * The lock is a folder with one file, the mark of its holder. A waiter prepares such a folder and renames it to the name of the lock,
 * which is atomic and fails while that one exists and is not empty. The lock of a dead process is taken over by deleting its mark by name,
 * so that two processes that do this at once cannot delete the lock of each other.
 */
export async function withFileLock<Result>(
  path: string,
  work: () => Promise<Result>,
  options: LockOptions = {},
): Promise<Result> {
  const lock = `${path}.lock`;
  const mark = `${machine}-${process.pid}-${randomBytes(6).toString('hex')}`;
  ownMarks.add(mark);
  try {
    await acquire(lock, mark, options);
    const held = join(lock, mark);
    const heartbeat = setInterval(() => void utimes(held, new Date(), new Date()).catch(() => undefined), heartbeatMs);
    heartbeat.unref();
    try {
      return await work();
    } finally {
      clearInterval(heartbeat);
      await rm(held, { force: true });
      await removeEmpty(lock);
    }
  } finally {
    ownMarks.delete(mark);
  }
}

async function acquire(
  lock: string,
  mark: string,
  { clock = systemClock, refuse, holder: own }: LockOptions,
): Promise<void> {
  const { now, pause } = clock;
  const prepared = `${lock}-${mark}`;
  try {
    await mkdir(prepared, { mode: 0o700 });
    await writeFile(join(prepared, mark), own === undefined ? '' : String(own), { mode: 0o600 });
    if (await renamed(prepared, lock)) return;
    const start = now();
    let seen = '';
    let seenAt = start;
    do {
      const holder = await holderOf(lock);
      if (holder !== undefined && holder.state !== seen) {
        if (refuse && (seen !== '' || isRunning(holder.mark))) throw refuse(lock, await namedHolder(lock, holder.mark));
        seen = holder.state;
        seenAt = now();
      }
      if (holder && (isDead(holder.mark) || now() - seenAt >= staleMs)) {
        await rm(join(lock, holder.mark), { force: true });
        await removeAbandoned(lock);
      } else if (now() - start >= maxWaitMs) {
        const held = `${lock} is held by process ${processOf(holder?.mark ?? '') || 'unknown'}`;
        throw new Error(`Another process is changing this file and does not finish (${held}). Try again later`);
      } else if (holder) await pause(retryMs);
      // Windows does not replace an empty folder.
      await removeEmpty(lock);
    } while (!(await renamed(prepared, lock)));
  } catch (error) {
    await rm(prepared, { recursive: true, force: true }).catch(() => undefined);
    // The same failure has the same message, so that it is logged once.
    if (error instanceof Error) error.message = error.message.replaceAll(prepared, lock);
    throw error;
  }
}

/** False if the lock is taken. The folder is known to be writable, so that a refusal of any kind means the same. */
async function renamed(prepared: string, lock: string): Promise<boolean> {
  try {
    await rename(prepared, lock);
    return true;
  } catch (error) {
    const taken = ['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EPERM', 'EACCES', 'EBUSY'];
    if (taken.includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** Undefined while the lock is free. */
async function holderOf(lock: string): Promise<{ readonly mark: string; readonly state: string } | undefined> {
  try {
    const file = (await stat(lock)).isFile();
    // Version 0.1 locked downloads with a file.
    const mark = file ? '' : (await readdir(lock))[0];
    if (mark === undefined) return undefined;
    return { mark, state: `${mark} ${(await stat(join(lock, mark))).mtimeMs}` };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The process that the mark names, or that made it. */
async function namedHolder(lock: string, mark: string): Promise<number> {
  const text = mark === '' ? '' : await readFile(join(lock, mark), 'utf8').catch(() => '');
  return /^\d{1,10}$/.test(text) ? Number(text) : processOf(mark);
}

async function removeEmpty(lock: string): Promise<void> {
  // It may be gone, or belong to the next one.
  await rmdir(lock).catch(() => undefined);
}

/** Prepared locks of processes that ended while they waited. */
async function removeAbandoned(lock: string): Promise<void> {
  const folder = dirname(lock);
  const start = `${basename(lock)}-`;
  for (const name of await readdir(folder).catch(() => []))
    if (name.startsWith(start) && isDead(name.slice(start.length)))
      await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined);
}

/** Whether the process that made a mark has certainly ended. Nothing is known about processes of other machines and containers. */
function isDead(mark: string): boolean {
  return isLocal(mark) && !isRunning(mark);
}

function isRunning(mark: string): boolean {
  const owner = processOf(mark);
  return isLocal(mark) && (owner === process.pid ? ownMarks.has(mark) : isAlive(owner));
}

function isLocal(mark: string): boolean {
  return mark.startsWith(`${machine}-`) && processOf(mark) !== 0;
}

function processOf(mark: string): number {
  return Number(/^[0-9a-f]{8}-(\d{1,10})-[0-9a-f]{12}$/.exec(mark)?.[1] ?? 0);
}

/** Process ids are unique within a machine, and within a container on it. */
const namespace = attempt(() => readlinkSync('/proc/self/ns/pid'), '');
const machine = createHash('sha256').update(`${hostname()} ${namespace}`).digest('hex').slice(0, 8);
