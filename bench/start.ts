import { spawn, spawnSync } from 'node:child_process';
import { get } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { BenchOptions } from './options.ts';
import { freePort } from './ports.ts';
import { childrenOf, residentMegabytes } from './process-figures.ts';
import type { Row } from './report.ts';
import { ended } from './server-process.ts';
import { median } from './statistics.ts';

const timeoutMs = 60_000;

interface Start {
  readonly portMs: number;
  readonly healthMs: number;
  readonly serverMegabytes: number;
  readonly workerMegabytes: number;
}

/** How soon the server with its embedded model is there, and what it holds while it does nothing. */
export async function startBench({ server, quick, log }: BenchOptions): Promise<Row[]> {
  const starts: Start[] = [];
  const nodes: number[] = [];
  for (let round = 0; round < (quick ? 3 : 9); round += 1) {
    const startedAt = performance.now();
    spawnSync(process.execPath, ['-e', '0']);
    nodes.push(performance.now() - startedAt);
    const start = await oneStart(server);
    starts.push(start);
    log(`port after ${start.portMs.toFixed(0)} ms, healthy after ${start.healthMs.toFixed(0)} ms`);
  }
  const row = (what: string, of: keyof Start, unit: string) => ({
    bench: 'start',
    what,
    value: median(starts.map((start) => start[of])),
    unit,
  });
  return [
    { bench: 'start', what: 'Node alone, an empty program', value: median(nodes), unit: 'ms' },
    { ...row('until the port accepts', 'portMs', 'ms'), goal: { atMost: 500 } },
    row('until /health says 200', 'healthMs', 'ms'),
    { ...row('idle memory of the server', 'serverMegabytes', 'MB'), goal: { atMost: 120 } },
    row('idle memory of the worker, model included', 'workerMegabytes', 'MB'),
  ];
}

async function oneStart(entry: string): Promise<Start> {
  const port = await freePort();
  const startedAt = performance.now();
  const child = spawn(process.execPath, [entry, '--port', String(port), '--threads', '1'], { stdio: 'ignore' });
  const pid = child.pid as number;
  try {
    const due = async (): Promise<void> => {
      if (child.exitCode !== null) throw new Error(`the server ended with code ${child.exitCode}`);
      if (performance.now() - startedAt > timeoutMs) throw new Error('the server did not become healthy in time');
      await wait(2);
    };
    while (!(await accepts(port))) await due();
    const portMs = performance.now() - startedAt;
    while ((await healthStatus(port)) !== 200) await due();
    const healthMs = performance.now() - startedAt;
    await wait(1500);
    const [worker] = childrenOf(pid);
    if (worker === undefined) throw new Error('the server has no engine process');
    return { portMs, healthMs, serverMegabytes: residentMegabytes(pid), workerMegabytes: residentMegabytes(worker) };
  } finally {
    await ended(child);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function healthStatus(port: number): Promise<number> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/health' }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).once('error', () => resolve(0));
  });
}
