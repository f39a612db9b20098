import type { Candidates } from './candidates.ts';

/** Divides the logits; 0 or less keeps only the best candidate. */
export function temperature(candidates: Candidates, value: number): void {
  const highest = candidates.highest();
  // Past the largest float every good token would become equally infinite; the best one is what the division tends to.
  const overflows = Number.isFinite(highest) && !Number.isFinite(Math.fround(highest / value));
  if (value <= 0 || overflows) {
    candidates.keepBest();
    return;
  }
  if (value === 1) return;
  const { logits, size } = candidates;
  for (let index = 0; index < size; index += 1) logits[index] = (logits[index] as number) / value;
  candidates.changed();
}

/**
 * A temperature between `value - range` and `value + range`, higher the more evenly the probabilities are spread. A
 * range of 0 is for the caller to leave to the plain temperature.
 */
export function dynamicTemperature(candidates: Candidates, value: number, range: number, exponent: number): void {
  if (candidates.size <= 1) return;
  candidates.softmax();
  const low = Math.max(0, value - range);
  const high = Math.max(0, value + range);
  const evenness = Math.max(0, candidates.entropy() / Math.log(candidates.size));
  temperature(candidates, low + (high - low) * evenness ** exponent);
}
