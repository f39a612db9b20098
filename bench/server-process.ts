import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { childrenOf } from './process-figures.ts';

export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
  /** Which build of the library's processor code it chose, by its own word. */
  readonly cpuBuild: string;
  /** How many layers of the model lie on a GPU. */
  readonly gpuLayers: number;
  /** The process of the text engine. */
  worker(): number;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly flags: readonly string[];
  /** For Node itself. */
  readonly nodeFlags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Told every line that the server prints once it is ready, and all that it says about trouble. */
  readonly onLine?: (line: string) => void;
}

/** Starts the server as a user would, and resolves when its model is ready. */
export async function startServer(entry: string, options: StartOptions): Promise<ServerProcess> {
  const { flags, nodeFlags = [], environment = {}, onLine } = options;
  const child = spawn(process.execPath, [...nodeFlags, entry, '--port', '0', '--quiet', ...flags], {
    stdio: ['ignore', 'pipe', onLine ? 'pipe' : 'inherit'],
    env: { ...process.env, ...environment },
  });
  if (onLine && child.stderr) createInterface({ input: child.stderr }).on('line', onLine);
  const { port, cpuBuild, gpuLayers } = await listening(child);
  if (onLine && child.stdout) createInterface({ input: child.stdout }).on('line', onLine);
  const pid = child.pid as number;
  return {
    pid,
    port,
    cpuBuild,
    gpuLayers,
    worker: () => {
      const [worker] = childrenOf(pid);
      if (worker === undefined) throw new Error('the server has no engine process');
      return worker;
    },
    stop: () => ended(child),
  };
}

export function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

async function listening(child: ChildProcess): Promise<Pick<ServerProcess, 'port' | 'cpuBuild' | 'gpuLayers'>> {
  if (!child.stdout) throw new Error('the server has no output');
  let port: number | undefined;
  let cpuBuild = 'unknown';
  let gpuLayers = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    port ??= Number(/^Listening on .*:(\d+)$/.exec(line)?.[1]) || undefined;
    cpuBuild = /CPU build ([\w.-]+)/.exec(line)?.[1] ?? cpuBuild;
    gpuLayers = Number(/(\d+) of \d+ layers on the GPU/.exec(line)?.[1] ?? gpuLayers);
    if (port === undefined || !line.startsWith('Please connect')) continue;
    child.stdout.resume();
    return { port, cpuBuild, gpuLayers };
  }
  throw new Error('the server ended before it was ready');
}
