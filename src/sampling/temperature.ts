import type { Candidates } from './candidates.ts';

/** Divides the logits; 0 or less keeps only the best candidate. */
export function temperature(candidates: Candidates, value: number): void {
  const highest = candidates.highest();
  // Beyond the largest float all good tokens would become infinite; the limit of the division is the best one.
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

/** A temperature between `value - range` and `value + range`, by the normalized entropy. The range is not 0. */
export function dynamicTemperature(candidates: Candidates, value: number, range: number, exponent: number): void {
  if (candidates.size <= 1) return;
  candidates.softmax();
  const low = Math.max(0, value - range);
  const high = Math.max(0, value + range);
  const evenness = Math.max(0, candidates.entropy() / Math.log(candidates.size));
  temperature(candidates, low + (high - low) * evenness ** exponent);
}

/** Maps the distances to the best logit by a quadratic and cubic curve; a factor of 0 or less changes nothing. */
export function smoothing(candidates: Candidates, factor: number, curve: number): void {
  if (factor <= 0 || candidates.size <= 1) return;
  const highest = candidates.highest();
  if (!Number.isFinite(highest)) return;
  const { logits, size } = candidates;
  const square = (-(3 - curve) / 2) * factor;
  const cube = ((curve - 1) / 2) * factor;
  for (let index = 0; index < size; index += 1) {
    const distance = (logits[index] as number) - highest;
    if (distance === -Infinity) continue;
    logits[index] = square * distance ** 2 + cube * distance ** 3 + highest;
  }
  // Outside of this range the curve is not monotonic.
  if (curve < 1 || curve > 3) candidates.reordered();
  else candidates.changed();
}
