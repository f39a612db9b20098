import type { StartTimer, Timer } from '../../http/timers.ts';

/** The values as they come, and `undefined` each time that none came for so long. */
export async function* withSilences<Value>(
  source: AsyncIterable<Value>,
  milliseconds: number,
  startTimer: StartTimer,
): AsyncGenerator<Value | undefined> {
  const iterator = source[Symbol.asyncIterator]();
  let wake: () => void = () => undefined;
  const timer: Timer = startTimer(milliseconds, () => wake());
  let next: Promise<IteratorResult<Value>> | undefined;
  try {
    for (;;) {
      const coming = next ?? iterator.next();
      next = coming;
      timer.restart();
      const step = await new Promise<IteratorResult<Value> | undefined>((resolve, reject) => {
        wake = () => resolve(undefined);
        coming.then(resolve, reject);
      });
      if (step) next = undefined;
      if (step?.done) return;
      yield step?.value;
    }
  } finally {
    timer.cancel();
    await iterator.return?.();
  }
}
