import { freemem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { readText } from './read-text.ts';

/** Available memory. Linux counts reclaimable memory and limits of a container or service, other systems only unused memory. */
export function availableBytes(read: (path: string) => string = readText, unused: () => number = freemem): number {
  const kilobytes = /^MemAvailable:\s+(\d+) kB$/m.exec(read('/proc/meminfo'))?.[1];
  const available = kilobytes === undefined ? unused() : Number(kilobytes) * 1024;
  return Math.max(0, Math.min(available, groupBytes(read)));
}

/** What the control group of this process (version 2) may still take; files that it has read are reclaimable. */
function groupBytes(read: (path: string) => string): number {
  const group = /^0::\/(.*)$/m.exec(read('/proc/self/cgroup'))?.[1];
  const file = (name: string) => read(['/sys/fs/cgroup', group, name].filter(Boolean).join('/'));
  const limit = group === undefined ? Number.NaN : Number.parseInt(file('memory.max'), 10);
  if (Number.isNaN(limit)) return Number.POSITIVE_INFINITY;
  const files = Number(/^file (\d+)$/m.exec(file('memory.stat'))?.[1] ?? 0);
  return limit - (Number(file('memory.current')) - files);
}

/** Of the heap, for one store in memory. */
const share = 1 / 8;

/** The limit of a store of texts: as many bytes as it should hold, or less where the heap is small (`--max-old-space-size`). */
export function heapShare(bytes: number, heapBytes = getHeapStatistics().heap_size_limit): number {
  return Math.min(bytes, Math.floor(heapBytes * share));
}
