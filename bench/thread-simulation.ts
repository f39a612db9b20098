import { type ThreadSwitches, threadHeuristics } from '../src/engines/llama/worker/scheduling.ts';
import { ThreadCount } from '../src/engines/llama/worker/threads/thread-count.ts';
import { seededRandom } from './seeded-random.ts';

/** A machine with other programs on it, and the steps that are computed there. */
interface Load {
  readonly name: string;
  readonly cores: number;
  /** Programs that keep a core busy at this time, in seconds. */
  readonly busy?: (now: number) => number;
  /** Of a step with one thread. */
  readonly stepMs?: number;
  readonly width?: number;
  /** Pause before a step. */
  readonly pauseMs?: (step: number) => number;
  /** Single threads are stopped for a moment, as on a virtual machine. */
  readonly unsteady?: boolean;
  readonly seconds?: number;
}

export const loads: readonly Load[] = [
  { name: 'idle, 2 cores', cores: 2 },
  { name: 'idle, 32 cores', cores: 32 },
  { name: 'prompts, 8 cores', cores: 8, stepMs: 10_000, width: 512, seconds: 600 },
  { name: 'unsteady, 2 cores', cores: 2, stepMs: 12, unsteady: true },
  { name: 'unsteady, 8 cores', cores: 8, stepMs: 12, unsteady: true },
  { name: '1 of 2 cores busy', cores: 2, busy: () => 1 },
  { name: '3 of 8 cores busy', cores: 8, busy: () => 3 },
  { name: '20 of 32 cores busy', cores: 32, busy: () => 20 },
  { name: '1 of 2 cores busy every other 3 s', cores: 2, busy: (now) => Math.floor(now / 3) % 2 },
  { name: '2 of 8 cores busy from 10 s on', cores: 8, busy: (now) => (now > 10 ? 2 : 0) },
  { name: '4 of 8 cores busy until 30 s', cores: 8, busy: (now) => (now < 30 ? 4 : 0) },
  { name: '2 programs on 2 cores until 60 s', cores: 2, busy: (now) => (now < 60 ? 2 : 0) },
  {
    name: 'short replies, 1 of 2 cores busy',
    cores: 2,
    busy: () => 1,
    stepMs: 7,
    pauseMs: (step) => (step % 128 === 0 ? 3000 : 0),
  },
  {
    name: 'single prompts, 1 of 2 cores busy',
    cores: 2,
    busy: () => 1,
    width: 512,
    pauseMs: () => 10_000,
    seconds: 1200,
  },
];

/** Milliseconds of waiting at the barriers of a step of 60 ms, if it has more threads than there are free cores. */
const barrierMs = 1000;
/** A step of more tokens is always watched, and contention is noticed after this time. */
const inlineWidth = 63;
const noticedMs = 100;

/** Steps per second of computing. `watched`: the system reports contention. */
export function simulateThreads(load: Load, watched: boolean, off: readonly (keyof ThreadSwitches)[] = []): number {
  const { cores, busy = () => 0, stepMs = 60, width = 1, pauseMs = () => 0, unsteady, seconds = 120 } = load;
  const on = { ...threadHeuristics, ...Object.fromEntries(off.map((name) => [name, false])) } as ThreadSwitches;
  const count = new ThreadCount(cores, { watched, growing: width > inlineWidth }, on);
  const random = seededRandom(5);
  const delay = () => (unsteady && random() < 0.06 ? 0.5 + 2.5 * random() : 0);
  let [now, steps, computedMs] = [0, 0, 0];
  while (now < seconds * 1000) {
    const pause = pauseMs(steps);
    now += pause;
    const threads = count.next(width, now);
    const free = Math.max(1, cores - busy(now / 1000));
    const isContended = watched && threads > free && (count.needsWatch || width > inlineWidth || pause > 2000);
    const share = (stepMs / threads) * (threads === 1 ? Math.max(1, (1 + busy(now / 1000)) / cores) : 1);
    const waits =
      threads > free
        ? barrierMs * Math.min(1, stepMs / 60)
        : share * Math.max(...Array.from({ length: threads }, delay));
    const milliseconds = isContended ? noticedMs : share + waits;
    now += milliseconds;
    computedMs += milliseconds;
    if (isContended) count.contended(free, milliseconds, now);
    else {
      count.completed(milliseconds, now);
      steps += 1;
    }
  }
  return (steps * 1000) / computedMs;
}
