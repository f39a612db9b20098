import { readFileSync } from 'node:fs';

/** Whether there is such a process that is more than an entry in the system's table. */
export function isAlive(pid: number): boolean {
  try {
    return /^State:\s+[^Z]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
