import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { type ProcessEntry, processTree, readProcessStat, readProcessTable } from './process-tree.ts';

/** The program of `processGuard`: lines `+PID` and `-PID` until the server is gone, and then the end of those that are left. */
const watched = new Set<number>();
const patienceMs = 1000;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const pid = Number(line.slice(1));
    if (!Number.isInteger(pid) || pid < 2) return;
    if (line.startsWith('+')) watched.add(pid);
    else watched.delete(pid);
  })
  .on('close', () => void clean());

async function clean(): Promise<void> {
  if (watched.size > 0 && process.platform === 'win32') {
    for (const pid of watched) quietly(() => execFileSync('taskkill', ['/pid', String(pid), '/t', '/f']));
  } else if (watched.size > 0) {
    const left = processTree([...watched], processTable());
    for (const pid of left) quietly(() => process.kill(pid, 'SIGTERM'));
    await wait(patienceMs);
    for (const pid of left) quietly(() => process.kill(pid, 'SIGKILL'));
  }
  process.exit(0);
}

function processTable(): readonly ProcessEntry[] {
  try {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    if (pids.length > 0) return pids.flatMap((pid) => quietly(() => readProcessStat(readStat(pid))) ?? []);
  } catch {
    // Not every system has it.
  }
  return quietly(() => readProcessTable(execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }))) ?? [];
}

function readStat(pid: string): string {
  return readFileSync(`/proc/${pid}/stat`, 'utf8');
}

function quietly<Value>(action: () => Value): Value | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
