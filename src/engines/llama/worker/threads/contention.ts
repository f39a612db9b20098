import { readdirSync, readFileSync } from 'node:fs';

/** How long each thread has waited for a core so far, in milliseconds, by its id. */
export type WaitingTimes = ReadonlyMap<string, number>;

interface Clock {
  readonly now: () => number;
  /** Calls `action` at intervals until the returned function is called. */
  readonly every: (milliseconds: number, action: () => void) => () => void;
}

/** So many times in a row: many requests at once keep the server and its clients busy for a while, which is no reason to change anything. */
const windows = 3;
const windowMs = 25;
/** A step that was undisturbed for so long is not given up. */
const watchedMs = 250;
/** A thread that shares its core with one other program waits half of the time. */
const waitingShare = 0.3;

/** Tells whether other programs run in place of the threads of this process, while they run. */
export class ContentionWatch {
  constructor(
    private readonly waitingTimes: () => WaitingTimes,
    private readonly clock: Clock,
  ) {}

  /** Calls `found` once with the number of threads that have to wait; not after the returned function was called. */
  start(found: (waiting: number) => void): () => void {
    const startedAt = this.clock.now();
    // Nothing is read for a step that is over before.
    let [before, readAt]: [WaitingTimes | undefined, number] = [undefined, startedAt];
    const counts: number[] = [];
    const stop = this.clock.every(windowMs, () => {
      const [after, now] = [this.waitingTimes(), this.clock.now()];
      if (before) counts.push(waitingThreads(before, after, now - readAt));
      [before, readAt] = [after, now];
      const lasting = counts.length < windows ? 0 : Math.min(...counts.slice(-windows));
      if (lasting === 0 && now - startedAt < watchedMs) return;
      stop();
      if (lasting > 0) found(lasting);
    });
    return stop;
  }
}

/** The number of threads that waited for a core for much of this time. */
export function waitingThreads(before: WaitingTimes, after: WaitingTimes, milliseconds: number): number {
  let count = 0;
  for (const [thread, time] of after) {
    if (time - (before.get(thread) ?? time) > milliseconds * waitingShare) count += 1;
  }
  return count;
}

/** Undefined where the system does not tell how long threads wait: only Linux does. */
export function contentionWatch(now: () => number): ContentionWatch | undefined {
  const main = String(process.pid);
  if (waitingTime(main) === undefined) return undefined;
  const every = (milliseconds: number, action: () => void) => {
    const timer = setInterval(action, milliseconds);
    return () => clearInterval(timer);
  };
  return new ContentionWatch(() => waitingTimes(main), { now, every });
}

/** Those of all threads but the main one, which computes nothing while a step is watched. */
function waitingTimes(main: string): WaitingTimes {
  const times = new Map<string, number>();
  for (const thread of readdirSync('/proc/self/task')) {
    const time = thread === main ? undefined : waitingTime(thread);
    if (time !== undefined) times.set(thread, time);
  }
  return times;
}

/** The file has nanoseconds on a core, nanoseconds of waiting for one, and how often it got one. A thread may be gone meanwhile. */
function waitingTime(thread: string): number | undefined {
  try {
    const [, waited] = readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ');
    return Number(waited) / 1e6;
  } catch {
    return undefined;
  }
}
