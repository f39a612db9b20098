import { addedRanges, anonymousRanges, type ProcessMemory, type Range, rangesIn } from './untouched-memory.ts';

/**
 * Runs what loads weights, and lets the file go where the library has made copies of it. Some processors want the weights
 * in another order; the mapped file then lies beside its copy, resident and read by nobody. What is still read of it comes
 * back from the system's own cache with the first decode.
 */
export async function withCopiedLetGo<Made>(
  memory: ProcessMemory | undefined,
  work: () => Promise<Made>,
): Promise<Made> {
  if (!memory) return work();
  const before = memory.maps();
  const made = await work();
  for (const range of copiedFiles(before, memory.maps())) memory.letGo(range);
  return made;
}

/** The files that were mapped for reading meanwhile, if at least half as much memory was taken beside them. */
export function copiedFiles(before: string, now: string): Range[] {
  const files = addedRanges(fileRanges(before), fileRanges(now));
  const copies = addedRanges(anonymousRanges(before), anonymousRanges(now));
  return bytesOf(copies) >= bytesOf(files) / 2 ? files : [];
}

function fileRanges(maps: string): Range[] {
  return rangesIn(maps, /r--s [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ [1-9]\d* +\//);
}

function bytesOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, { start, end }) => sum + end - start, 0);
}
