import { readdirSync, readFileSync } from 'node:fs';
import { contention } from '../scheduling.ts';

/** How long each thread has waited for a core since its start, in milliseconds, by thread id. */
export type WaitingTimes = ReadonlyMap<string, number>;

interface Clock {
  readonly now: () => number;
  /** Calls `action` at intervals until the returned function is called. */
  readonly every: (milliseconds: number, action: () => void) => () => void;
}

const { minWindows, windowMs, maxWatchMs, minWaitingShare } = contention;

/** Detects, while a step runs, whether other programs occupy the cores of its threads. */
export class ContentionWatch {
  constructor(
    private readonly waitingTimes: () => WaitingTimes,
    private readonly clock: Clock,
  ) {}

  /** Calls `onContention` at most once, with the number of waiting threads; not after the returned function was called. */
  start(onContention: (waiting: number) => void): () => void {
    const startedAt = this.clock.now();
    // The first reading is after the first window: nothing is read for a shorter step.
    let [before, readAt]: [WaitingTimes | undefined, number] = [undefined, startedAt];
    const counts: number[] = [];
    const stop = this.clock.every(windowMs, () => {
      const [after, now] = [this.waitingTimes(), this.clock.now()];
      if (before) counts.push(waitingThreads(before, after, now - readAt));
      [before, readAt] = [after, now];
      const lasting = counts.length < minWindows ? 0 : Math.min(...counts.slice(-minWindows));
      if (lasting === 0 && now - startedAt < maxWatchMs) return;
      stop();
      if (lasting > 0) onContention(lasting);
    });
    return stop;
  }
}

/** The number of threads that waited for a core for much of the window. */
export function waitingThreads(before: WaitingTimes, after: WaitingTimes, milliseconds: number): number {
  let count = 0;
  for (const [thread, time] of after) {
    if (time - (before.get(thread) ?? time) > milliseconds * minWaitingShare) count += 1;
  }
  return count;
}

/** Undefined where the system does not report how long threads wait: only Linux does. */
export function contentionWatch(now: () => number): ContentionWatch | undefined {
  const main = String(process.pid);
  if (waitingTime(main) === undefined) return undefined;
  const every = (milliseconds: number, action: () => void) => {
    const timer = setInterval(action, milliseconds);
    return () => clearInterval(timer);
  };
  return new ContentionWatch(() => waitingTimes(main), { now, every });
}

/** The waiting times of all threads but the main one, which computes nothing while a step is watched. */
function waitingTimes(main: string): WaitingTimes {
  const times = new Map<string, number>();
  for (const thread of readdirSync('/proc/self/task')) {
    const time = thread === main ? undefined : waitingTime(thread);
    if (time !== undefined) times.set(thread, time);
  }
  return times;
}

/** The file has three numbers: nanoseconds on a core, nanoseconds waiting for one, and time slices. The thread may have ended meanwhile. */
function waitingTime(thread: string): number | undefined {
  try {
    const [, waited] = readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ');
    return Number(waited) / 1e6;
  } catch {
    return undefined;
  }
}
