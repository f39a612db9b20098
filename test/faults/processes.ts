import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { LiveServer } from '../live/server.ts';
import { until } from './until.ts';

/** Clock ticks that a process has computed, with all its threads. */
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** Resolves when a process has computed for some 100 ms from now on. */
export async function atWork(pid: number): Promise<void> {
  const before = cpuTicks(pid);
  await until(() => cpuTicks(pid) >= before + 10);
}

/** The process of an engine, as soon as there is one other than this. */
export function workerOf(server: LiveServer, engine: string, other?: number): Promise<number> {
  return until(() => {
    const pid = server.worker(engine);
    return pid !== undefined && pid !== other ? pid : false;
  });
}

/** Changes a limit of a running process with `prlimit`, such as `--as=1000000:`, which leaves the hard limit alone. */
export function limit(pid: number, resource: string): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), resource], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`prlimit ${resource}: ${stderr}`);
}

export function cannotLimit(): string | undefined {
  const { status } = spawnSync('prlimit', ['--version']);
  return status === 0 ? undefined : 'prlimit is not installed';
}

/** Virtual memory of a process in bytes. */
export function virtualBytes(pid: number): number {
  return Number(/^VmSize:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

/** The processes that a process has started with this text in their command line, the newest first. */
export function childrenOf(parent: number, command: string): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const matching = pids.filter((pid) => {
    try {
      const isChild = new RegExp(`^PPid:\\s+${parent}$`, 'm').test(readFileSync(`/proc/${pid}/status`, 'utf8'));
      return isChild && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(command);
    } catch {
      return false;
    }
  });
  return matching.map(Number).sort((one, other) => other - one);
}
