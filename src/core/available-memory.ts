import { freemem } from 'node:os';
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
