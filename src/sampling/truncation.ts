import { type Candidates, trimToHighest } from './candidates.ts';
import type { Random } from './random.ts';

/** Keeps the `count` best candidates; 0 or less keeps all. */
export function topK(candidates: Candidates, count: number): void {
  if (count > 0) trimToHighest(candidates, Math.max(1, Math.floor(count)));
}

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

/** Keeps candidates that are at least `share` times as likely as the best one; 0 or less keeps all. */
export function minP(candidates: Candidates, share: number): void {
  if (share > 0) candidates.keepAtLeast(candidates.highest() + Math.log(share));
}

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

/** A total curvature below this is treated as a straight line. */
const minCurvature = 1e-6;

/** Tail-free sampling: cuts where the sorted probabilities have used `limit` of their total curvature; 1 or more keeps all. */
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
    sum += total > minCurvature ? bend(probabilities, index) / total : 1 / bends;
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

/**
 * Keeps the candidates whose surprise is nearest to the entropy until their probabilities exceed `limit`; 1 or more keeps all. In
 * sorted order the surprise only grows, so the kept range starts where it passes the entropy and grows to the nearer side.
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

/** Keeps candidates within `width` standard deviations of the best logit; 0 or less keeps all. Infinite logits do not count. */
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

/** Subtracted from the logits of excluded candidates: their probability becomes 0. */
const exclusion = 999;

/** XTC: with `probability`, of the candidates above `threshold` only the least likely stays. Draws at most once. */
export function xtc(candidates: Candidates, threshold: number, probability: number, random: Random): void {
  if (threshold > 0.5 || probability <= 0 || candidates.size <= 1) return;
  if (random.next() >= probability) return;
  candidates.sort();
  candidates.softmax();
  const { logits, probabilities, size } = candidates;
  let likely = 0;
  while (likely < size && (probabilities[likely] as number) >= threshold) likely += 1;
  if (likely < 2) return;
  for (let index = 0; index < likely - 1; index += 1) logits[index] = (logits[index] as number) - exclusion;
  candidates.reordered();
}
