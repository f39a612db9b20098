import { getHeapStatistics } from 'node:v8';

/** Of the heap, for one store in memory. */
const share = 1 / 8;

/** The limit of a store of texts: as many bytes as it should hold, or less where the heap is small (`--max-old-space-size`). */
export function heapShare(bytes: number, heapBytes = getHeapStatistics().heap_size_limit): number {
  return Math.min(bytes, Math.floor(heapBytes * share));
}
