import type { Candidates } from './candidates.ts';

/** Keeps the fewest best candidates whose probabilities reach `limit` together; 1 or more keeps all. */
export function topP(candidates: Candidates, limit: number): void {
  if (limit >= 1) return;
  candidates.sort();
  candidates.softmax();
  let sum = 0;
  for (let index = 0; index < candidates.size; index += 1) {
    sum += candidates.probabilities[index] as number;
    if (sum >= limit) {
      candidates.size = index + 1;
      return;
    }
  }
}
