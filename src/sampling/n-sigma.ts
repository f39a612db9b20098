import type { Candidates } from './candidates.ts';

/**
 * Keeps candidates within `width` standard deviations of the best logit; 0 or less keeps all. Impossible candidates take
 * no part in the deviation.
 */
export function nSigma(candidates: Candidates, width: number): void {
  if (width <= 0 || candidates.size <= 1) return;
  const { logits, size } = candidates;
  let count = 0;
  let mean = 0;
  let squares = 0;
  for (let index = 0; index < size; index += 1) {
    const logit = logits[index] as number;
    if (!Number.isFinite(logit)) continue;
    count += 1;
    const step = logit - mean;
    mean += step / count;
    squares += step * (logit - mean);
  }
  if (count > 0) candidates.keepAtLeast(candidates.highest() - width * Math.sqrt(squares / count));
}
