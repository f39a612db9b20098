/** Time for one slice of work; the page can draw a frame beside it. */
const sliceMs = 8;

/** Runs a generator to its end in short slices, so that the page stays responsive. */
export async function inSlices<Result>(
  work: Generator<void, Result>,
  { signal, now = () => performance.now(), pause = nextTask }: SliceOptions = {},
): Promise<Result> {
  let until = now() + sliceMs;
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (now() < until) continue;
    await pause();
    signal?.throwIfAborted();
    until = now() + sliceMs;
  }
}

export interface SliceOptions {
  readonly signal?: AbortSignal | undefined;
  readonly now?: () => number;
  readonly pause?: () => Promise<void>;
}

/** Not a timer: browsers delay nested ones by 4 ms, and those of hidden pages by a second. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
