import { setImmediate } from 'node:timers/promises';

/** Long work that yields where it can be interrupted. The driver decides whether it is. */
export type Sliced<Result> = Generator<void, Result>;

interface SliceOptions {
  readonly signal?: AbortSignal;
  readonly clock?: () => number;
  readonly pause?: () => Promise<void>;
}

/** Longer than decoding an ordinary request takes, and too short to be noticed in a stream. */
const sliceMs = 8;

/** Yields to the event loop after each slice of time. Throws the reason of the signal after an abort. */
export async function inSlices<Result>(work: Sliced<Result>, options: SliceOptions = {}): Promise<Result> {
  const { signal, clock = () => performance.now(), pause = () => setImmediate() } = options;
  let end = clock() + sliceMs;
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (clock() < end) continue;
    await pause();
    signal?.throwIfAborted();
    end = clock() + sliceMs;
  }
}

/** The result of work at once, for work that is known to be short. */
export function whole<Result>(work: Sliced<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
