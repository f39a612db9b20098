import { existsSync, readFileSync } from 'node:fs';
import koffi from 'koffi';
import type { ProcessMemory, Range } from './untouched-memory.ts';

/** Of `madvise`; the same on every Linux that Node runs on. */
const forget = 4;
const noHugePages = 15;

const mapsFile = '/proc/self/maps';

/** This process's own memory by calls of the C library; undefined where the system is not Linux or shows nothing. */
export function openProcessMemory(): ProcessMemory | undefined {
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
    maps: () => readFileSync(mapsFile, 'utf8'),
    holdsOnlyZeros: (range) => {
      const [start, size] = sized(range);
      if (zeros.length < size) {
        zeros = new Uint8Array(size);
        pages = new Uint8Array(Math.ceil(size / pageBytes));
      }
      if (isResident(start, size, pages) !== 0) return false;
      // The lowest bit says it; looking into a page that is not there would only bring it.
      for (let page = 0; page * pageBytes < size; page += 1) if (((pages[page] as number) & 1) === 0) return false;
      return compare(start, zeros, size) === 0;
    },
    giveBack: (range) => {
      const [start, size] = sized(range);
      // Where the system hands out huge pages by itself, the first token of a sequence would take 2 MiB in every layer.
      advise(start, size, noHugePages);
      advise(start, size, forget);
    },
    letGo: (range) => advise(...sized(range), forget),
  };
}
