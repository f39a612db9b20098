import type { Candidates } from './candidates.ts';

/** Bends the distances to the best logit along a quadratic and cubic curve; a factor of 0 or less changes nothing. */
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
  // Outside of these curves the line turns back: what was worse can become better.
  if (curve < 1 || curve > 3) candidates.reordered();
  else candidates.changed();
}
