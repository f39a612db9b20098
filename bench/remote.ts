import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { post } from './http-client.ts';
import type { BenchOptions } from './options.ts';
import { cpuMicroseconds } from './process-figures.ts';
import type { Row } from './report.ts';
import { ended, type ServerProcess, startServer } from './server-process.ts';
import { lowest, percentile } from './statistics.ts';
import { type StreamTarget, streamTargets } from './stream-targets.ts';
import { warmUpTokens } from './warm-up.ts';

/** Plain texts and chats go out in two ways; one dialect of each, and one whose events are large. */
const targets = streamTargets.filter(({ name }) => ['native stream', 'OpenAI chat', 'Messages'].includes(name));

const paces = [
  { name: '1,000 tokens/s', intervalMicroseconds: 1000, tokens: 2000 },
  { name: '10,000 tokens/s', intervalMicroseconds: 100, tokens: 10_000 },
  { name: 'as fast as they come', intervalMicroseconds: 0, tokens: warmUpTokens },
] as const;

/** Cost of a server in front of a remote backend: processor time per event, and added time to first token. */
export async function remoteBench(options: BenchOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const pace of paces)
    rows.push(...(await withPair(options, pace.intervalMicroseconds, (pair) => events(pair, pace, options))));
  rows.push(...(await withPair(options, 0, (pair) => firstTokens(pair, options))));
  return rows;
}

interface Pair {
  /** The backend: its fake engine has no model and sends tokens at a fixed rate. */
  readonly behind: ServerProcess;
  readonly front: ServerProcess;
}

async function withPair(
  { server: entry }: BenchOptions,
  intervalMicroseconds: number,
  measure: (pair: Pair) => Promise<Row[]>,
): Promise<Row[]> {
  const behind = await startServer(entry, {
    flags: [],
    nodeFlags: ['--import', new URL('swap-worker.js', import.meta.url).href],
    environment: { BENCH_INTERVAL_US: String(intervalMicroseconds) },
  });
  try {
    const front = await startServer(entry, { flags: ['--remote', `http://127.0.0.1:${behind.port}`] });
    try {
      return await measure({ behind, front });
    } finally {
      await front.stop();
    }
  } finally {
    await behind.stop();
  }
}

async function events(pair: Pair, pace: (typeof paces)[number], { quick, log }: BenchOptions): Promise<Row[]> {
  const rounds = quick ? 2 : 5;
  const measured = targets.map((target) => ({ target, front: [] as number[], behind: [] as number[] }));
  for (let round = 0; round <= rounds; round += 1) {
    const tokens = round === 0 ? warmUpTokens : pace.tokens;
    for (const { target, ...values } of measured) {
      for (const side of ['behind', 'front'] as const) {
        const value = await eventMicroseconds(pair[side], target, tokens);
        if (round > 0) values[side].push(value);
      }
    }
  }
  return measured.map(({ target, front, behind }) => {
    const what = `${target.name}, ${pace.name}`;
    log(`${what}: ${front.map((value) => value.toFixed(1)).join(', ')} µs in front`);
    const peer = { value: lowest(behind), ratio: lowest(front) / lowest(behind) };
    return { bench: 'remote', what, value: lowest(front), unit: 'µs/event', goal: { atMost: 60 }, peer };
  });
}

/** Of the server's own process, the engine's left out. */
async function eventMicroseconds({ pid, port }: ServerProcess, target: StreamTarget, tokens: number): Promise<number> {
  const before = cpuMicroseconds(pid);
  const { status, text } = await post(port, target.path, target.body(tokens));
  const took = cpuMicroseconds(pid) - before;
  const count = target.countEvents(text);
  if (status !== 200 || count < tokens) throw new Error(`${target.path}: ${status}, ${count} events`);
  return took / count;
}

/** The lowest tenth of many: what is possible, not what is typical on a shared machine. */
const leastDisturbed = (values: readonly number[]): number => percentile(values, 0.1);

async function firstTokens({ behind, front }: Pair, { quick, log }: BenchOptions): Promise<Row[]> {
  const rounds = quick ? 100 : 400;
  const proxy = await startProxy(behind.port);
  const rows: Row[] = [];
  for (const target of targets) {
    const routes = [
      { port: behind.port, times: [] as number[] },
      { port: proxy.port, times: [] as number[] },
      { port: front.port, times: [] as number[] },
    ];
    // Alternating, so that a disturbance affects all of them; the first runs warm up the JIT.
    for (let round = -100; round < rounds; round += 1) {
      for (const { port, times } of routes) {
        const time = await firstTokenMs(port, target);
        if (round >= 0) times.push(time);
      }
    }
    const [direct, bareProxy, through] = routes.map(({ times }) => leastDisturbed(times)) as [number, number, number];
    log(
      `${target.name}: ${direct.toFixed(3)} ms direct, ${bareProxy.toFixed(3)} ms by a bare proxy, ${through.toFixed(3)} ms through`,
    );
    const row = { bench: 'remote', unit: 'ms' } as const;
    rows.push({
      ...row,
      what: `added to the first token, ${target.name}`,
      value: through - direct,
      goal: { atMost: 1 },
    });
    rows.push({ ...row, what: `added by the least that Node can do, ${target.name}`, value: bareProxy - direct });
  }
  await proxy.stop();
  return rows;
}

async function startProxy(target: number): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const child = fork(fileURLToPath(new URL('proxy.js', import.meta.url)), [String(target)]);
  const { port } = await new Promise<{ port: number }>((resolve, reject) => {
    child.once('message', (message) => resolve(message as { port: number }));
    child.once('exit', () => reject(new Error('the proxy ended before it was ready')));
  });
  return { port, stop: () => ended(child) };
}

async function firstTokenMs(port: number, target: StreamTarget): Promise<number> {
  const begun = performance.now();
  let first: number | undefined;
  const { status } = await post(port, target.path, target.body(1), () => {
    first ??= performance.now() - begun;
  });
  if (status !== 200 || first === undefined) throw new Error(`${target.path}: ${status}`);
  return first;
}
