/**
 * Number of first turns to summarize so that the rest has at most `room` tokens. The last two turns are never summarized;
 * 0 if the summary already stands for as many.
 */
export function turnsToSummarize(sizes: readonly number[], summarized: number, room: number): number {
  let count = sizes.length;
  let rest = 0;
  while (count > 0 && (sizes.length - count < 2 || rest + (sizes[count - 1] ?? 0) <= room)) {
    count -= 1;
    rest += sizes[count] ?? 0;
  }
  return count > summarized ? count : 0;
}
