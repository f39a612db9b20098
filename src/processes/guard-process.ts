import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { GuardedProcesses, type ProcessEntry, readProcessStat, readProcessTable } from './guarded-processes.ts';

/** The program of `processGuard`: reads lines `+PID` and `-PID MILLISECONDS` until the server has ended, then ends the remaining processes. */
const guarded = new GuardedProcesses({ table: processTable, kill, wait: (milliseconds) => wait(milliseconds) });

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const [pid, closeMs] = line.slice(1).trim().split(' ').map(Number) as [number, number?];
    if (!Number.isInteger(pid) || pid < 2) return;
    if (line.startsWith('+')) guarded.add(pid);
    else void guarded.end(pid, closeMs);
  })
  .on('close', () => void guarded.endAll().then(() => process.exit(0)));

function kill(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  // Windows has no such signals; `taskkill` also ends the children.
  if (process.platform === 'win32') quietly(() => execFileSync('taskkill', ['/pid', String(pid), '/t', '/f']));
  else quietly(() => process.kill(pid, signal));
}

function processTable(pids: readonly number[]): readonly ProcessEntry[] {
  if (process.platform === 'win32') {
    const present = pids.filter((pid) => quietly(() => process.kill(pid, 0)) === true);
    return present.map((pid) => ({ pid, parent: 0, startedAt: '' }));
  }
  try {
    const running = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    if (running.length > 0)
      return running.flatMap((pid) => quietly(() => readProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))) ?? []);
  } catch {
    // This system has no /proc.
  }
  const columns = 'pid=,ppid=,stat=,lstart=';
  return quietly(() => readProcessTable(execFileSync('ps', ['-A', '-o', columns], { encoding: 'utf8' }))) ?? [];
}

function quietly<Value>(action: () => Value): Value | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
