import { type ChildProcess, spawn } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { compared } from './compare.ts';
import { type Contender, startParley, startPeer } from './contender.ts';
import { nonsense } from './nonsense.ts';
import { type BenchOptions, benchModel, defaultThreads } from './options.ts';
import type { Goal, Row } from './report.ts';
import { ended } from './server-process.ts';
import { median } from './statistics.ts';
import { arrivalsUntil } from './text-stream.ts';

const streams = 16;
const promptWords = 8;
/** More than any machine makes in one wave. */
const replyTokens = 900;
const waveMs = { quick: 4000, full: 10_000 };
/** The threads of the server before look for work for a while after their last step. */
const restMs = 300;
/** A server that has not read all prompts until then is measured as it is. */
const promptsMs = 60_000;

interface Wave {
  /** Until each stream has its first token. */
  readonly promptMs: number;
  readonly tokensPerSecond: number;
}

type Waves = ReadonlyMap<string, readonly Wave[]>;

const shareGoals: readonly Goal[] = [{ atLeast: 0.98 }, { atLeast: 0.85 }, { atLeast: 0.85 }];
const peerGoals: readonly (Goal | undefined)[] = [undefined, { atLeast: 4 }, { atLeast: 4 }];

/** Sixteen streams beside programs that keep cores busy: the number of threads found as it goes, each fixed one, and a peer. */
export async function busyBench(options: BenchOptions): Promise<Row[]> {
  const threads = options.threads ?? defaultThreads();
  const shape = { model: await benchModel(options), threads, context: 1024, parallel: streams, batch: 512 };
  const servers = new Map<string, Contender>();
  const rows: Row[] = [];
  try {
    servers.set('adaptive', await startParley(options, shape));
    for (const count of fixedCounts(threads)) {
      servers.set(`${count} fixed`, await startParley(options, { ...shape, threads: count }, ['--fixedthreads']));
    }
    const peer = await startPeer(options.peer, shape);
    if (peer) servers.set('peer', peer);
    for (const neighbours of [0, 1, 2]) rows.push(...(await besideNeighbours(neighbours, servers, options)));
  } finally {
    for (const server of servers.values()) await server.stop();
  }
  return rows;
}

/** All numbers of a small machine; of a larger one those near the top and each half. */
export function fixedCounts(threads: number): readonly number[] {
  const halves: number[] = [];
  for (let count = threads; count >= 1; count = Math.floor(count / 2)) halves.push(count);
  return [...new Set([threads, threads - 1, threads - 2, ...halves])].filter((count) => count >= 1);
}

async function besideNeighbours(
  neighbours: number,
  servers: ReadonlyMap<string, Contender>,
  { quick, log }: BenchOptions,
): Promise<Row[]> {
  const milliseconds = quick ? waveMs.quick : waveMs.full;
  const rounds = quick ? 2 : 5;
  const waves = new Map<string, Wave[]>([...servers.keys()].map((name) => [name, []]));
  const busy = Array.from({ length: neighbours }, () =>
    startNeighbour((rounds + 1) * servers.size * (promptsMs + milliseconds + restMs)),
  );
  try {
    // One round more than counted: the first one compiles code, and its neighbours are new.
    for (let round = 0; round <= rounds; round += 1) {
      // Who goes first changes, but none goes twice in a row: it may not have noticed yet that its clients are gone.
      const first = round % servers.size;
      for (const [name, server] of [...[...servers].slice(first), ...[...servers].slice(0, first)]) {
        await wait(restMs);
        const measured = await wave(server, neighbours * 100 + round, milliseconds);
        if (round > 0) waves.get(name)?.push(measured);
      }
    }
  } finally {
    for (const child of busy) await ended(child);
  }
  for (const [name, all] of waves) {
    const speeds = all.map(
      ({ tokensPerSecond, promptMs }) => `${tokensPerSecond.toFixed(0)} (${promptMs.toFixed(0)} ms)`,
    );
    log(`${neighbours} busy, ${name}: ${speeds.join(', ')} tokens/s (prompts)`);
  }
  return rowsOf(neighbours, waves);
}

export function rowsOf(neighbours: number, waves: Waves): Row[] {
  const bench = 'busy';
  const what = `${neighbours} busy`;
  const fixedOnes = [...waves].filter(([name]) => name.endsWith('fixed'));
  const measured = (of: keyof Wave) => {
    const values = (all: readonly Wave[]) => all.map((one) => one[of]);
    const peer = waves.get('peer');
    const fixed = fixedOnes.map(([name, all]) => ({ name, values: values(all) }));
    return { parley: values(waves.get('adaptive') ?? []), peer: peer && values(peer), fixed };
  };
  const [speed, prompts] = [measured('tokensPerSecond'), measured('promptMs')];
  const best = speed.fixed.reduce((one, other) => (median(other.values) > median(one.values) ? other : one));
  const quickest = prompts.fixed.reduce((one, other) => (median(other.values) < median(one.values) ? other : one));
  const ratio = (one: readonly number[], other: readonly number[]) =>
    median(one.map((value, round) => value / (other[round] as number)));
  const goal = shareGoals[neighbours] as Goal;
  return [
    compared({ bench, what, unit: 'tokens/s' }, speed, peerGoals[neighbours]),
    ...speed.fixed.map(({ name, values }) => ({
      bench,
      what: `${what}, ${name}`,
      value: median(values),
      unit: 'tokens/s',
    })),
    { bench, what: `${what}, share of ${best.name}`, value: ratio(speed.parley, best.values), unit: '', goal },
    compared({ bench, what: `${what}, prompts`, unit: 'ms' }, prompts),
    {
      bench,
      what: `${what}, prompts, share of ${quickest.name}`,
      value: ratio(quickest.values, prompts.parley),
      unit: '',
    },
  ];
}

/** Tokens a second of all streams in this time, from the moment on when each has its first token. */
async function wave(server: Contender, number: number, milliseconds: number): Promise<Wave> {
  const stop = new AbortController();
  setMaxListeners(streams + 1, stop.signal);
  const askedAt = performance.now();
  const running = Array.from({ length: streams }, (_, index) =>
    arrivalsUntil(server, nonsense(number * 100 + index, promptWords), replyTokens, stop.signal),
  );
  const ended = Promise.all(running.map((one) => one.ended));
  const until = askedAt + promptsMs;
  while (running.some(({ arrivals }) => arrivals.length === 0) && performance.now() < until) await wait(5);
  const from = performance.now();
  await Promise.race([wait(milliseconds), ended]);
  const to = performance.now();
  stop.abort();
  await ended;
  const tokens = running.flatMap(({ arrivals }) => arrivals).filter((at) => at > from && at <= to).length;
  return { promptMs: from - askedAt, tokensPerSecond: (tokens * 1000) / (to - from) };
}

/**
 * A program that keeps a core busy at the lowest priority, as one of another user session: Linux shares the processor
 * between sessions first, so the priority does not help. It ends by itself, and with this process.
 */
function startNeighbour(milliseconds: number): ChildProcess {
  const program = `
    require('node:os').setPriority(19);
    const [parent, until] = [process.ppid, Date.now() + ${milliseconds}];
    while (Date.now() < until && process.ppid === parent) for (let index = 0; index < 1e7; index += 1);`;
  return spawn(process.execPath, ['-e', program], { stdio: 'ignore', detached: true });
}
