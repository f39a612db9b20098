import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Guard {
  add(pid: number): void;
  /** This program is about to end, or has ended; what is left of it after a while is ended by force. */
  end(pid: number): void;
}

/**
 * A small process beside this one that outlives it for a moment: it knows the programs of tool servers, and ends whatever is left
 * of them when this process is gone, also when that was killed. It is started with the first of them.
 */
export function processGuard(): Guard {
  let guard: ChildProcess | undefined;
  const tell = (line: string): void => {
    guard ??= start();
    guard.stdin?.write(`${line}\n`);
  };
  return { add: (pid) => tell(`+${pid}`), end: (pid) => tell(`-${pid}`) };
}

function start(): ChildProcess {
  const program = fileURLToPath(new URL('./guard-process.js', import.meta.url));
  // In a session of its own: what a terminal sends to the server must not end who cleans up after it.
  const guard = spawn(process.execPath, [program], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env.PATH },
  });
  guard.on('error', () => undefined);
  guard.stdin?.on('error', () => undefined);
  guard.unref();
  (guard.stdin as { unref?: () => void } | null)?.unref?.();
  return guard;
}
