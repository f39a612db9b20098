import { spawn } from 'node:child_process';
import { program, programEnvironment } from './server.ts';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string;
  readonly limitMs?: number;
  /** The command that starts it, where it is not the build of this repository alone. */
  readonly command?: readonly string[];
}

/** Runs the program to its end. One that does not end within the limit is ended, and has no code then. */
export function runProgram(
  flags: readonly string[],
  { input = '', limitMs = 50_000, command = [process.execPath, program] }: RunOptions = {},
): Promise<Ended> {
  const [file = '', ...first] = command;
  const child = spawn(file, [...first, ...flags], {
    env: programEnvironment(),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // One that refuses its flags is gone before it reads anything.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return new Promise((resolve) => {
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, stdout, stderr });
    });
  });
}
