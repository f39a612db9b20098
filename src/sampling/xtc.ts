import type { Candidates } from './candidates.ts';
import type { Random } from './random.ts';

const exclusion = 999;

/**
 * Now and then leaves the top choices out: of the candidates at least as likely as `threshold` only the least likely
 * stays in reach. Draws once whenever it is on and there is a choice, whether it acts or not.
 */
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
