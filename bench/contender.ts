import { spawn } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import type { BenchOptions } from './options.ts';
import { freePort } from './ports.ts';
import { childrenOf, cpuMicroseconds, mapsOf, megabytesTogether, peakMegabytes } from './process-figures.ts';
import { ended, type ServerProcess, startServer } from './server-process.ts';

/** A server that is measured beside another one. */
export interface Contender {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** All that belongs to it; empty when it runs where we cannot look. */
  readonly processes: () => readonly number[];
  readonly stop: () => Promise<void>;
}

/** What both servers are started with, so that they do the same work. */
export interface Shape {
  readonly model: string;
  readonly threads: number;
  /** Tokens of one stream; a server that divides its context gets as many times more. What is left out is the server's choice. */
  readonly context?: number;
  readonly parallel?: number;
  readonly batch?: number;
  /** All on the GPU; on the processor otherwise. */
  readonly gpu?: boolean;
}

const timeoutMs = 120_000;

export async function startContenders(options: BenchOptions, shape: Shape): Promise<Contender[]> {
  const started = await startServer(options.server, { flags: parleyFlags(options, shape) });
  const parley = parleyContender(started);
  if (shape.gpu && started.gpuLayers === 0) {
    await parley.stop();
    throw new Error('this bench needs a graphics card that Parley can use, and there is none');
  }
  try {
    const peer = await startPeer(options.peer, shape);
    if (!peer) return [parley];
    if (shape.gpu) return [parley, peer];
    // A library without the matrix instructions that ours uses reads prompts at half the speed, whatever the server does.
    options.log(
      `Parley computes with the CPU build "${started.cpuBuild}"; compare only with a peer built for the same (see --cpubuild)`,
    );
    return [parley, peer];
  } catch (error) {
    await parley.stop();
    throw error;
  }
}

export async function startParley(
  options: BenchOptions,
  shape: Shape,
  more: readonly string[] = [],
): Promise<Contender> {
  return parleyContender(await startServer(options.server, { flags: [...parleyFlags(options, shape), ...more] }));
}

function parleyFlags({ cpuBuild }: BenchOptions, { model, threads, context, parallel, batch, gpu }: Shape): string[] {
  const build = cpuBuild === undefined ? [] : ['--cpubuild', cpuBuild];
  const size = [
    ...(context === undefined ? [] : ['--contextsize', String(context)]),
    ...(batch === undefined ? [] : ['--batchsize', String(batch)]),
  ];
  const together = parallel !== undefined && parallel > 1 ? ['--parallelrequests', String(parallel), '--batchall'] : [];
  const deviceFlags = gpu ? ['--gpulayers', '999', '--multiuser', '128'] : ['--usecpu'];
  return ['--model', model, ...deviceFlags, '--threads', String(threads), ...build, ...size, ...together];
}

function parleyContender({ pid, port, stop }: ServerProcess): Contender {
  return { name: 'Parley', host: '127.0.0.1', port, processes: () => [pid, ...childrenOf(pid)], stop };
}

export async function startPeer(peer: BenchOptions['peer'], shape: Shape): Promise<Contender | undefined> {
  if (peer.command === undefined) {
    if (peer.url === undefined) return undefined;
    const { pid } = peer;
    const processes = pid === undefined ? [] : [pid];
    const running = { ...address(peer.url), processes: () => processes, stop: async () => {} };
    await healthy(running, () => false);
    return running;
  }
  const port = peer.url === undefined ? await freePort() : address(peer.url).port;
  const [program = '', ...args] = filledIn(peer.command, shape, port);
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'ignore'] });
  let failure: string | undefined;
  child.once('error', (error) => {
    failure = error.message;
  });
  const pid = child.pid ?? 0;
  const started: Contender = {
    name: 'peer',
    host: '127.0.0.1',
    port,
    processes: () => [pid, ...childrenOf(pid)],
    stop: () => ended(child),
  };
  try {
    await healthy(started, () => failure !== undefined || child.exitCode !== null);
  } catch (error) {
    if (failure === undefined) await started.stop();
    throw new Error(`the peer did not become ready (${failure ?? (error as Error).message})`);
  }
  return started;
}

function address(url: string): { name: string; host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { name: 'peer', host: hostname, port: Number(port) || 80 };
}

/**
 * The words of a command in which `{model}`, `{port}`, `{threads}`, `{parallel}`, `{batch}`, `{context}` (of one stream)
 * and `{totalcontext}` (of all streams) are replaced by what the bench decides.
 */
export function filledIn(command: string, { gpu: _, ...shape }: Shape, port: number): string[] {
  const values: Readonly<Record<string, string | number | undefined>> = {
    ...shape,
    port,
    totalcontext: shape.context && shape.parallel && shape.context * shape.parallel,
  };
  return command
    .trim()
    .split(/\s+/)
    .map((arg) =>
      arg.replace(/\{(\w+)\}/g, (placeholder, name: string) => {
        if (values[name] === undefined) throw new Error(`${placeholder} in --peer-command means nothing here`);
        return String(values[name]);
      }),
    );
}

async function healthy({ host, port }: Pick<Contender, 'host' | 'port'>, hasExited: () => boolean): Promise<void> {
  const until = performance.now() + timeoutMs;
  while (performance.now() < until) {
    if (hasExited()) throw new Error('it ended');
    const answer = await fetch(`http://${host}:${port}/v1/models`).catch(() => undefined);
    const health = await fetch(`http://${host}:${port}/health`).catch(() => undefined);
    // Not every server has a path for its health; the list of models is there when the server is.
    if (answer?.ok && (health?.ok || health?.status === 404)) return;
    await wait(100);
  }
  throw new Error('it did not answer in time');
}

export function cpuOf({ processes }: Contender): number | undefined {
  const all = processes();
  return all.length === 0 ? undefined : all.reduce((sum, pid) => sum + cpuMicroseconds(pid), 0);
}

export function memoryOf({ processes }: Contender): number | undefined {
  const all = processes();
  return all.length === 0 ? undefined : megabytesTogether(all.map(mapsOf));
}

/** The sum of what each of its processes held at most, at whatever moment. */
export function peakMemoryOf({ processes }: Contender): number | undefined {
  const all = processes();
  return all.length === 0 ? undefined : all.reduce((sum, pid) => sum + peakMegabytes(pid), 0);
}
