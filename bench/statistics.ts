export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  if (upper === undefined) throw new RangeError('no values to take the median of');
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

export const lowest = (values: readonly number[]): number => Math.min(...values);

/** The value that this share of all values does not exceed; the nearest one that was really measured. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const found = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (found === undefined) throw new RangeError('no values to take a percentile of');
  return found;
}

/** The times between neighbours. */
export function gaps(moments: readonly number[]): number[] {
  return moments.slice(1).map((moment, index) => moment - (moments[index] as number));
}

/** Whether the last third of a series lies above the middle one by more than this share: what grows on and on. */
export function grows(values: readonly number[], share: number): boolean {
  const third = Math.floor(values.length / 3);
  if (third === 0) return false;
  return median(values.slice(-third)) > median(values.slice(third, 2 * third)) * (1 + share);
}
