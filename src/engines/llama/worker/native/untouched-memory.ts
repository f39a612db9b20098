/** A piece of the address space; addresses of a process stay far below what a number holds exactly. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** What the system lets us see and do of this process's own memory. */
export interface ProcessMemory {
  /** As in `/proc/self/maps`. */
  maps(): string;
  /** Whether every page of this range is there and holds nothing but zeros. */
  holdsOnlyZeros(range: Range): boolean;
  /** Forgets the pages, which then read as zeros and are there again when somebody writes. */
  giveBack(range: Range): void;
  /** Forgets the pages of a mapped file, which come back from it when somebody reads. */
  letGo(range: Range): void;
}

/** How finely we look; a piece with anything in it stays whole. */
const pieceBytes = 2 ** 20;
/** Nothing but a cleared buffer has so many zeros in a row that somebody wrote. */
const leastRunBytes = 4 * 2 ** 20;

/**
 * Runs what makes a context, and gives back the pages of its cache. The library writes zeros all over the cache, which
 * makes every page of it resident; a page of zeros that is given back reads the same, and takes memory only when
 * a conversation reaches it. Only what `work` has mapped is looked at, and nobody else may write there meanwhile:
 * `work` is synchronous, and the threads that compute have nothing to do yet.
 */
export function withUntouchedGivenBack<Made>(memory: ProcessMemory | undefined, work: () => Made): Made {
  if (!memory) return work();
  const before = anonymousRanges(memory.maps());
  const made = work();
  const added = addedRanges(before, anonymousRanges(memory.maps()));
  for (const run of runsOf(added, (piece) => memory.holdsOnlyZeros(piece))) memory.giveBack(run);
  return made;
}

/** The private, writable mappings without a file, in the order of their addresses; the stack and the heap are none. */
export function anonymousRanges(maps: string): Range[] {
  return rangesIn(maps, /rw-p [0-9a-f]+ 00:00 0(?: +\[anon:.*)?\s*$/);
}

/** The ranges whose lines go on in this way after the addresses. */
export function rangesIn(maps: string, description: RegExp): Range[] {
  const line = new RegExp(`^([0-9a-f]+)-([0-9a-f]+) ${description.source}`, 'gm');
  return [...maps.matchAll(line)].map(([, start = '', end = '']) => ({
    start: Number.parseInt(start, 16),
    end: Number.parseInt(end, 16),
  }));
}

/** What is mapped now and was not before. The system merges neighbours, so a range can be new in part. */
export function addedRanges(before: readonly Range[], now: readonly Range[]): Range[] {
  return now.flatMap((range) => {
    const added: Range[] = [];
    let { start } = range;
    for (const old of before.filter(({ start, end }) => start < range.end && end > range.start)) {
      if (old.start > start) added.push({ start, end: old.start });
      start = Math.max(start, old.end);
    }
    return start < range.end ? [...added, { start, end: range.end }] : added;
  });
}

/** The long runs of pieces that hold only zeros. */
export function runsOf(ranges: readonly Range[], holdsOnlyZeros: (piece: Range) => boolean): Range[] {
  const runs: Range[] = [];
  for (const range of ranges.filter(({ start, end }) => end - start >= leastRunBytes)) {
    let start = range.start;
    const close = (end: number, next: number) => {
      if (end - start >= leastRunBytes) runs.push({ start, end });
      start = next;
    };
    for (let at = range.start; at < range.end; at += pieceBytes) {
      const piece = { start: at, end: Math.min(at + pieceBytes, range.end) };
      if (!holdsOnlyZeros(piece)) close(piece.start, piece.end);
    }
    close(range.end, range.end);
  }
  return runs;
}
