import type { Candidates } from './candidates.ts';

/** Cuts where a probability falls under `share` times the square of the best one; 0 or less keeps all. */
export function topA(candidates: Candidates, share: number): void {
  if (share <= 0 || candidates.size <= 1) return;
  candidates.sort();
  candidates.softmax();
  const { probabilities, size } = candidates;
  const threshold = share * (probabilities[0] as number) ** 2;
  let kept = 1;
  while (kept < size && (probabilities[kept] as number) >= threshold) kept += 1;
  candidates.size = kept;
}
