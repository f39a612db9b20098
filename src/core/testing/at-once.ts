import type { Sliced } from '../slices.ts';

/** Work without any pause, for tests that look at its result only. */
export function atOnce<Result>(work: Sliced<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
