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
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (value === undefined) throw new RangeError('no values to take a percentile of');
  return value;
}

/** The times between neighbours. */
export function gaps(moments: readonly number[]): number[] {
  return moments.slice(1).map((moment, index) => moment - (moments[index] as number));
}

/** The slope of the straight line through the points, by least squares; 0 for fewer than two. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [middleX, middleY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const spread = points.reduce((sum, [x]) => sum + (x - middleX) ** 2, 0);
  const common = points.reduce((sum, [x, y]) => sum + (x - middleX) * (y - middleY), 0);
  return spread > 0 ? common / spread : 0;
}
