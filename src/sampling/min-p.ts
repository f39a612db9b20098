import type { Candidates } from './candidates.ts';

/** Keeps candidates that are at least `share` times as likely as the best one; 0 or less keeps all. */
export function minP(candidates: Candidates, share: number): void {
  if (share > 0) candidates.keepAtLeast(candidates.highest() + Math.log(share));
}
