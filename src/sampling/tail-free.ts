import type { Candidates } from './candidates.ts';

const flat = 1e-6;

/**
 * Cuts where the curve of the sorted probabilities has spent the share `limit` of all its bending; 1 or more keeps all.
 */
export function tailFree(candidates: Candidates, limit: number): void {
  if (limit >= 1 || candidates.size <= 2) return;
  candidates.sort();
  candidates.softmax();
  const { probabilities, size } = candidates;
  const bends = size - 2;
  let total = 0;
  for (let index = 0; index < bends; index += 1) total += bend(probabilities, index);
  let sum = 0;
  for (let index = 0; index < bends; index += 1) {
    sum += total > flat ? bend(probabilities, index) / total : 1 / bends;
    if (index >= 1 && sum > limit) {
      candidates.size = index;
      return;
    }
  }
}

function bend(probabilities: Float32Array, index: number): number {
  const middle = probabilities[index + 1] as number;
  return Math.abs((probabilities[index] as number) - middle - (middle - (probabilities[index + 2] as number)));
}
