import type { Candidates } from './candidates.ts';
import type { Random } from './random.ts';

/** Sorts, makes the probabilities and draws by them. Returns the index of the chosen candidate. */
export function draw(candidates: Candidates, random: Random): number {
  candidates.sort();
  candidates.softmax();
  const { probabilities, size } = candidates;
  const aim = random.next();
  let sum = 0;
  let last = 0;
  for (let index = 0; index < size; index += 1) {
    const probability = probabilities[index] as number;
    sum += probability;
    if (sum >= aim) return index;
    if (probability > 0) last = index;
  }
  // Rounding left the sum a hair under 1 and the draw fell in between.
  return last;
}
