import { readdirSync, readFileSync } from 'node:fs';

/**
 * What Linux counts about a process of ours. Processor time tells more than the clock on a machine that others use too,
 * and it is read from outside so that the process under test does nothing for it.
 */
export function cpuMicroseconds(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce((sum, thread) => sum + runNanoseconds(`/proc/${pid}/task/${thread}/schedstat`), 0) / 1000;
}

/** The kernel's own count in nanoseconds; the one in `stat` goes in steps of ten milliseconds. */
function runNanoseconds(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8').split(' ')[0]);
  } catch {
    // A thread that ended since the folder was read.
    return 0;
  }
}

export function residentMegabytes(pid: number): number {
  return megabytes(pid, /^VmRSS:\s+(\d+) kB$/m);
}

/** What processes hold together, from their `smaps`: a file that several have mapped, such as their program, is in memory once. */
export function megabytesTogether(maps: readonly string[]): number {
  const files = new Map<string, number>();
  let own = 0;
  for (const map of maps) {
    const perFile = new Map<string, number>();
    for (const { path, kilobytes, anonymous } of mappings(map)) {
      own += anonymous;
      perFile.set(path, (perFile.get(path) ?? 0) + kilobytes - anonymous);
    }
    for (const [path, kilobytes] of perFile) files.set(path, Math.max(files.get(path) ?? 0, kilobytes));
  }
  return [...files.values()].reduce((sum, kilobytes) => sum + kilobytes, own) / 1024;
}

function* mappings(map: string) {
  for (const one of map.split(/^(?=[\da-f]+-[\da-f]+ )/m)) {
    const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(one)?.[1] ?? 0);
    const path = one.slice(0, one.indexOf('\n')).split(/\s+/).slice(5).join(' ');
    yield { path, kilobytes: kilobytes('Rss'), anonymous: kilobytes('Anonymous') };
  }
}

export const mapsOf = (pid: number): string => readFileSync(`/proc/${pid}/smaps`, 'utf8');

export function peakMegabytes(pid: number): number {
  return megabytes(pid, /^VmHWM:\s+(\d+) kB$/m);
}

function megabytes(pid: number, line: RegExp): number {
  return Number(line.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}
