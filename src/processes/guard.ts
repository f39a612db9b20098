import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Guard {
  add(pid: number): void;
  /** The program is ending; what is left of it after this time is killed. */
  end(pid: number, closeMs?: number): void;
}

/** A small process that ends the programs that this process has started when this process ends, even if killed. Started with the first program. */
export function processGuard(): Guard {
  let guard: ChildProcess | undefined;
  const send = (line: string): void => {
    guard ??= start(() => {
      guard = undefined;
    });
    guard.stdin?.write(`${line}\n`);
  };
  return { add: (pid) => send(`+${pid}`), end: (pid, closeMs) => send(`-${pid} ${closeMs ?? ''}`) };
}

/** One that could not be started is tried again with the next program. */
function start(failed: () => void): ChildProcess {
  const program = fileURLToPath(new URL('./guard-process.js', import.meta.url));
  // In its own session, so that signals of a terminal do not reach it.
  const guard = spawn(process.execPath, [program], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env.PATH },
  });
  guard.on('error', failed);
  guard.stdin?.on('error', () => undefined);
  guard.unref();
  (guard.stdin as { unref?: () => void } | null)?.unref?.();
  return guard;
}
