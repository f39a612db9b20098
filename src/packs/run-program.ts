import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Environment } from './toolkit.ts';

interface Running {
  readonly environment: Environment;
  readonly signal?: AbortSignal;
  readonly line: (line: string) => void;
}

/** How long programs may take to end by themselves. */
const endingMs = 5000;

/** Runs a program to its end and resolves to its exit code. An abort ends it with all programs that it has started. */
export async function runProgram(
  program: string,
  words: readonly string[],
  { environment, signal, line }: Running,
): Promise<number> {
  signal?.throwIfAborted();
  // In a process group of its own, which is ended as a whole: a compiler has many children.
  const child = spawn(program, words, {
    env: environment as NodeJS.ProcessEnv,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // There are none if they could not be made; the error follows.
  const outputs: readonly (Readable | null | undefined)[] = [child.stdout, child.stderr];
  for (const input of outputs) if (input) createInterface({ input }).on('line', line);
  const end = (how: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, how);
    } catch {
      // It has ended.
    }
  };
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    end('SIGTERM');
    timer = setTimeout(() => end('SIGKILL'), endingMs);
  };
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (status) => resolve(status ?? 1));
    });
    signal?.throwIfAborted();
    return code;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}
