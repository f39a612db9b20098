import type { Candidates } from './candidates.ts';
import { trimToHighest } from './select.ts';

/** Keeps the `count` best candidates; 0 or less keeps all. */
export function topK(candidates: Candidates, count: number): void {
  if (count > 0) trimToHighest(candidates, Math.max(1, Math.floor(count)));
}
