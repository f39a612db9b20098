import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { post } from './http-client.ts';
import type { BenchOptions } from './options.ts';
import { cpuMicroseconds } from './process-figures.ts';
import type { Row } from './report.ts';
import { ended } from './server-process.ts';
import { lowest } from './statistics.ts';
import { type StreamTarget, streamTargets } from './stream-targets.ts';

/** The pace of a small model, where every token is an event loop turn of its own, and the pace at which turns are full. */
const paces = [
  { name: 'a token each millisecond', intervalMs: 1, tokens: 4000 },
  { name: 'as fast as they come', intervalMs: 0, tokens: 40_000 },
] as const;

/** The processor time that the server's own process spends on one streamed event, the engine's process left out. */
export async function streamBench({ quick, log }: BenchOptions): Promise<Row[]> {
  const rounds = quick ? 2 : 5;
  const rows: Row[] = [];
  for (const pace of paces) {
    const server = await startFastServer(pace.intervalMs);
    try {
      for (const target of streamTargets) {
        await eventMicroseconds(server, target, pace.tokens);
        const measured: number[] = [];
        for (let round = 0; round < rounds; round += 1) {
          measured.push(await eventMicroseconds(server, target, pace.tokens));
        }
        log(`${target.name}, ${pace.name}: ${measured.map((value) => value.toFixed(1)).join(', ')} µs`);
        const what = `${target.name}, ${pace.name}`;
        rows.push({ bench: 'stream', what, value: lowest(measured), unit: 'µs/event', goal: { atMost: 40 } });
      }
    } finally {
      await server.stop();
    }
  }
  return rows;
}

interface FastServer {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

async function startFastServer(intervalMs: number): Promise<FastServer> {
  const child = fork(fileURLToPath(new URL('fast-server.js', import.meta.url)), [], {
    env: { ...process.env, BENCH_INTERVAL_MS: String(intervalMs) },
  });
  const { port } = await new Promise<{ port: number }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { port: number }));
    child.once('exit', () => reject(new Error('the server ended before it was ready')));
  });
  return { pid: child.pid as number, port, stop: () => ended(child) };
}

async function eventMicroseconds({ pid, port }: FastServer, target: StreamTarget, tokens: number): Promise<number> {
  const before = cpuMicroseconds(pid);
  const { status, text } = await post(port, target.path, target.body(tokens));
  const took = cpuMicroseconds(pid) - before;
  const events = target.countEvents(text);
  if (status !== 200 || events < tokens) throw new Error(`${target.path}: ${status}, ${events} events`);
  return took / events;
}
