import { existsSync, readFileSync } from 'node:fs';
import koffi from 'koffi';

/** Of `madvise`; the same on every Linux that Node runs on. */
const forget = 4;
const noHugePages = 15;

const mapsFile = '/proc/self/maps';

/** Access to the memory of this process by calls of the C library; undefined if the system is not Linux. */
export function openProcessMemory() {
  if (process.platform !== 'linux' || !existsSync(mapsFile)) return undefined;
  const libc = koffi.load(null);
  const compare = libc.func('int memcmp(void *one, const void *other, size_t size)');
  const isResident = libc.func('int mincore(void *start, size_t size, _Out_ uint8 *pages)');
  const advise = libc.func('int madvise(void *start, size_t size, int advice)');
  const pageBytes = libc.func('int getpagesize(void)')() as number;
  let zeros = new Uint8Array(0);
  let pages = new Uint8Array(0);
  const sized = ({ start, end }: Range) => [BigInt(start), end - start] as const;
  return {
    maps: (): string => readFileSync(mapsFile, 'utf8'),
    /** Whether every page of the range is resident and zero. */
    holdsOnlyZeros: (range: Range): boolean => {
      const [start, size] = sized(range);
      if (zeros.length < size) {
        zeros = new Uint8Array(size);
        pages = new Uint8Array(Math.ceil(size / pageBytes));
      }
      if (isResident(start, size, pages) !== 0) return false;
      // The lowest bit is set for resident pages; reading another one would load it.
      for (let page = 0; page * pageBytes < size; page += 1) if (((pages[page] as number) & 1) === 0) return false;
      return compare(start, zeros, size) === 0;
    },
    /** Returns pages to the system; they then read as zeros. */
    giveBack: (range: Range): void => {
      const [start, size] = sized(range);
      // With transparent huge pages, the first token of a sequence would take 2 MiB in every layer.
      advise(start, size, noHugePages);
      advise(start, size, forget);
    },
    /** Releases pages of a mapped file; reading loads them again. */
    letGo: (range: Range): void => {
      advise(...sized(range), forget);
    },
  };
}

/** A range of addresses; they are far below 2^53. */
export type Range = Readonly<Record<'start' | 'end', number>>;

export type ProcessMemory = NonNullable<ReturnType<typeof openProcessMemory>>;

/** Granularity; a piece with other bytes than zero stays. */
const pieceBytes = 2 ** 20;
/** Only a cleared buffer has this many zeros in a row. */
const minRunBytes = 4 * 2 ** 20;

/**
 * Runs `work`, which creates a context, and returns the pages that the library has filled with zeros to the system: they take memory
 * only when they are written. Only new mappings are examined; `work` is synchronous, so that nothing else writes there.
 */
export function withUntouchedGivenBack<Made>(memory: ProcessMemory | undefined, work: () => Made): Made {
  if (!memory) return work();
  const before = anonymousRanges(memory.maps());
  const made = work();
  const added = addedRanges(before, anonymousRanges(memory.maps()));
  for (const run of runsOf(added, (piece) => memory.holdsOnlyZeros(piece))) memory.giveBack(run);
  return made;
}

/** The private, writable, anonymous mappings, ascending; without stack and heap. */
export function anonymousRanges(maps: string): Range[] {
  return rangesIn(maps, /rw-p [0-9a-f]+ 00:00 0(?: +\[anon:.*)?\s*$/);
}

/** The ranges whose lines match this description after the addresses. */
export function rangesIn(maps: string, description: RegExp): Range[] {
  const line = new RegExp(`^([0-9a-f]+)-([0-9a-f]+) ${description.source}`, 'gm');
  return [...maps.matchAll(line)].map(([, start = '', end = '']) => ({
    start: Number.parseInt(start, 16),
    end: Number.parseInt(end, 16),
  }));
}

/** The newly mapped ranges. The system merges adjacent mappings, so a range can be partly new. */
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
  for (const range of ranges.filter(({ start, end }) => end - start >= minRunBytes)) {
    let start = range.start;
    const close = (end: number, next: number) => {
      if (end - start >= minRunBytes) runs.push({ start, end });
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

/** Runs `work`, which loads weights, and releases the pages of the mapped file if the library has copied it to reorder the weights. */
export async function withCopiedLetGo<Made>(memory: ProcessMemory | undefined, work: () => Promise<Made>) {
  if (!memory) return work();
  const before = memory.maps();
  const made = await work();
  for (const range of copiedFiles(before, memory.maps())) memory.letGo(range);
  return made;
}

/** The newly mapped files, if at least half as much memory was allocated. */
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
