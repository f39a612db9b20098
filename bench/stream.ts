import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { post } from './http-client.ts';
import type { BenchOptions } from './options.ts';
import { cpuMicroseconds } from './process-figures.ts';
import type { Row } from './report.ts';
import { ended, type ServerProcess, startServer } from './server-process.ts';
import { lowest } from './statistics.ts';
import { nativeStream, type StreamTarget, streamTargets } from './stream-targets.ts';
import { warmUpTokens } from './warm-up.ts';

/**
 * Every token of the slow paces is a wake-up and a write of its own, and what the system takes for those grows with the
 * time that the process slept before. At the fastest the tokens of one turn of the event loop share a write.
 */
const paces = [
  { name: '1,000 tokens/s', intervalMicroseconds: 1000, tokens: 3000 },
  { name: '10,000 tokens/s', intervalMicroseconds: 100, tokens: 20_000 },
  { name: 'as fast as they come', intervalMicroseconds: 0, tokens: warmUpTokens },
] as const;

type Pace = (typeof paces)[number];

/** The processor time that the server's own process spends on one streamed event, the engine's process left out. */
export async function streamBench({ server: entry, quick, log }: BenchOptions): Promise<Row[]> {
  const rounds = quick ? 2 : 5;
  const rows: Row[] = [];
  for (const pace of paces) {
    const relay = await startRelay(pace);
    const parley = await startServer(entry, {
      flags: [],
      nodeFlags: ['--import', new URL('swap-worker.js', import.meta.url).href],
      environment: environmentOf(pace),
    });
    const cases = [
      { server: relay as Streaming, target: { ...nativeStream, name: 'the least a Node server can do' } },
      ...streamTargets.map((target) => ({ server: parley, target })),
    ].map((one) => ({ ...one, measured: [] as number[] }));
    try {
      // Alternating, so that a disturbance affects all of them; the first round warms up the JIT.
      for (let round = 0; round <= rounds; round += 1) {
        for (const { server, target, measured } of cases) {
          const value = await eventMicroseconds(server, target, round === 0 ? warmUpTokens : pace.tokens);
          if (round > 0) measured.push(value);
        }
      }
    } finally {
      await relay.stop();
      await parley.stop();
    }
    for (const { server, target, measured } of cases) {
      const what = `${target.name}, ${pace.name}`;
      log(`${what}: ${measured.map((value) => value.toFixed(1)).join(', ')} µs`);
      const goal = server === parley ? { goal: { atMost: 40 } } : {};
      rows.push({ bench: 'stream', what, value: lowest(measured), unit: 'µs/event', ...goal });
    }
  }
  return rows;
}

type Streaming = Pick<ServerProcess, 'pid' | 'port' | 'stop'>;

const environmentOf = ({ intervalMicroseconds }: Pace) => ({ BENCH_INTERVAL_US: String(intervalMicroseconds) });

async function startRelay(pace: Pace): Promise<Streaming> {
  const child = fork(fileURLToPath(new URL('relay.js', import.meta.url)), [], {
    env: { ...process.env, ...environmentOf(pace) },
  });
  const { port } = await new Promise<{ port: number }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { port: number }));
    child.once('exit', () => reject(new Error('the server ended before it was ready')));
  });
  return { pid: child.pid as number, port, stop: () => ended(child) };
}

async function eventMicroseconds({ pid, port }: Streaming, target: StreamTarget, tokens: number): Promise<number> {
  const before = cpuMicroseconds(pid);
  const { status, text } = await post(port, target.path, target.body(tokens));
  const took = cpuMicroseconds(pid) - before;
  const events = target.countEvents(text);
  if (status !== 200 || events < tokens) throw new Error(`${target.path}: ${status}, ${events} events`);
  return took / events;
}
