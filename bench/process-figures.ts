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

export function peakMegabytes(pid: number): number {
  return megabytes(pid, /^VmHWM:\s+(\d+) kB$/m);
}

function megabytes(pid: number, line: RegExp): number {
  return Number(line.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
}
