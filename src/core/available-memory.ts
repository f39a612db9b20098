import { freemem } from 'node:os';
import { readText } from './read-text.ts';

/** Available memory. Linux counts reclaimable memory, other systems only unused memory. */
export function availableBytes(): number {
  const kilobytes = /^MemAvailable:\s+(\d+) kB$/m.exec(readText('/proc/meminfo'))?.[1];
  return kilobytes === undefined ? freemem() : Number(kilobytes) * 1024;
}
