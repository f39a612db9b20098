/**
 * Work that may take long and can be interrupted: it yields wherever others could be let in. The driver decides whether
 * they are, so that the same work runs at once where it is small.
 */
export type Sliced<Result> = Generator<void, Result>;

export interface SliceOptions {
  /** Whoever goes away meanwhile ends the work: the rest of it is not done. */
  readonly signal?: AbortSignal;
  readonly clock?: () => number;
  readonly pause?: () => Promise<void>;
}

/** Longer than the decoding of any ordinary request, and too short to be seen in a stream. */
const sliceMs = 8;

/** Lets the event loop in whenever a slice of time is over. Throws the reason of the signal once that has fired. */
export async function inSlices<Result>(work: Sliced<Result>, options: SliceOptions = {}): Promise<Result> {
  const { signal, clock = now, pause = othersFirst } = options;
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

const now = (): number => performance.now();

function othersFirst(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
