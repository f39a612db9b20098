import type { Candidates } from './candidates.ts';

/**
 * Keeps the candidates whose surprise is nearest to the expected one until their probabilities exceed `limit`; 1 or
 * more keeps all. Along the sorted candidates the surprise only grows, so those nearest to any value stand side by side:
 * the kept range starts where the surprise passes the expected one and grows to whichever side is nearer.
 */
export function typical(candidates: Candidates, limit: number): void {
  if (limit >= 1 || candidates.size <= 1) return;
  candidates.sort();
  candidates.softmax();
  const { probabilities, size } = candidates;
  const expected = candidates.entropy();
  let end = 0;
  while (end < size && -Math.log(probabilities[end] as number) < expected) end += 1;
  let start = end;
  let sum = 0;
  while (sum <= Math.max(0, limit) && (start > 0 || end < size)) {
    const before = start > 0 ? Math.abs(-Math.log(probabilities[start - 1] as number) - expected) : Infinity;
    const after = end < size ? Math.abs(-Math.log(probabilities[end] as number) - expected) : Infinity;
    if (start > 0 && before <= after) {
      start -= 1;
      sum += probabilities[start] as number;
    } else {
      sum += probabilities[end] as number;
      end += 1;
    }
  }
  candidates.keepRange(start, end);
}
