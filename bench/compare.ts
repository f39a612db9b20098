import type { Goal, Row } from './report.ts';
import { median } from './statistics.ts';

/** What was measured of each server, round by round; the peer may not be there. */
export interface Measured {
  readonly parley: readonly number[];
  readonly peer: readonly number[] | undefined;
}

/**
 * One line for both servers. The ratio is taken within each round, where both met the machine in the same mood, and the
 * median over the rounds is reported.
 */
export function compared(
  what: { readonly bench: string; readonly what: string; readonly unit: string },
  { parley, peer }: Measured,
  ratioGoal?: Goal,
): Row {
  const row = { ...what, value: median(parley) };
  if (!peer) return row;
  const ratios = parley.flatMap((value, round) => {
    const other = peer[round];
    return other === undefined || other === 0 ? [] : [value / other];
  });
  const ratio = ratios.length > 0 ? { ratio: median(ratios) } : {};
  return { ...row, peer: { value: median(peer), ...ratio }, ...(ratioGoal && { ratioGoal }) };
}
