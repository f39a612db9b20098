import { setTimeout as wait } from 'node:timers/promises';
import { compared } from './compare.ts';
import { type Contender, cpuOf, memoryOf, startContenders } from './contender.ts';
import { nonsense } from './nonsense.ts';
import { type BenchOptions, benchModel } from './options.ts';
import type { Goal, Row } from './report.ts';
import { gaps, median, percentile } from './statistics.ts';
import { type StreamedText, streamCompletion } from './text-stream.ts';

export const concurrencies = [1, 2, 4, 8, 16] as const;
const promptWords = 40;
const restMs = 300;

/** One wave of equal requests that are sent at the same moment. */
interface Wave {
  readonly tokensPerSecond: number;
  readonly firstTokenMs: number;
  readonly gapMs: number;
  readonly slowGapMs: number;
  readonly cpuMsPerToken: number | undefined;
}

/** The same requests to Parley and to a peer, in turn, with more and more of them at once. */
export async function serveBench(options: BenchOptions): Promise<Row[]> {
  const shape = { model: await benchModel(options), threads: options.threads ?? 2, context: 1024, parallel: 16 };
  const contenders = await startContenders(options, { ...shape, batch: 512, gpu: options.gpu });
  const rounds = options.quick ? 2 : 5;
  const replyTokens = options.quick ? 32 : 128;
  const rows: Row[] = [];
  try {
    for (const streams of concurrencies) {
      const waves = new Map<string, Wave[]>(contenders.map(({ name }) => [name, []]));
      // One round more than counted: the first one compiles code and fills caches.
      for (let round = 0; round <= rounds; round += 1) {
        // Who goes first changes, so that neither always meets the machine as the other left it.
        for (const contender of round % 2 === 0 ? contenders : [...contenders].reverse()) {
          // The threads of the other one look for work for a while after its last step.
          await wait(restMs);
          const wave = await oneWave(contender, { streams, replyTokens, number: round * 100 + streams });
          if (round > 0) waves.get(contender.name)?.push(wave);
        }
      }
      for (const [name, all] of waves) {
        options.log(
          `${name}, ${streams} at once: ${all.map((one) => one.tokensPerSecond.toFixed(0)).join(', ')} tokens/s`,
        );
      }
      rows.push(...waveRows(streams, waves.get('Parley') ?? [], waves.get('peer')));
    }
    const [parley, peer] = contenders.map(memoryOf);
    if (parley !== undefined) {
      const measured = { parley: [parley], peer: peer === undefined ? undefined : [peer] };
      rows.push(compared({ bench: 'serve', what: 'memory after it', unit: 'MB' }, measured));
    }
  } finally {
    for (const contender of contenders) await contender.stop();
  }
  return rows;
}

interface WaveOrder {
  readonly streams: number;
  readonly replyTokens: number;
  readonly number: number;
}

async function oneWave(contender: Contender, { streams, replyTokens, number }: WaveOrder): Promise<Wave> {
  const before = cpuOf(contender);
  const startedAt = performance.now();
  const answers = await Promise.all(
    Array.from({ length: streams }, (_, index) =>
      streamCompletion(contender, nonsense(number * 100 + index, promptWords), replyTokens),
    ),
  );
  const tookMs = Math.max(...answers.map(({ endedAt }) => endedAt)) - startedAt;
  const after = cpuOf(contender);
  const tokens = answers.reduce((sum, answer) => sum + answer.tokens, 0);
  if (tokens !== streams * replyTokens)
    throw new Error(`${contender.name} made ${tokens} tokens, not what was asked for`);
  const between = answers.flatMap(({ arrivals }) => gaps(arrivals));
  return {
    tokensPerSecond: (tokens * 1000) / tookMs,
    firstTokenMs: median(answers.map(firstTokenMs)),
    gapMs: median(between),
    slowGapMs: percentile(between, 0.95),
    cpuMsPerToken: before === undefined || after === undefined ? undefined : (after - before) / 1000 / tokens,
  };
}

export function firstTokenMs({ askedAt, arrivals }: StreamedText): number {
  return (arrivals[0] as number) - askedAt;
}

function waveRows(streams: number, parley: readonly Wave[], peer: readonly Wave[] | undefined): Row[] {
  const row = (name: string, of: keyof Wave, unit: string, goal?: Goal): Row[] => {
    const values = (waves: readonly Wave[]): number[] => waves.map((wave) => wave[of] ?? Number.NaN);
    const own = values(parley);
    if (own.some(Number.isNaN)) return [];
    const other = peer && values(peer);
    const measured = { parley: own, peer: other?.some(Number.isNaN) ? undefined : other };
    return [compared({ bench: 'serve', what: `${streams} at once: ${name}`, unit }, measured, goal)];
  };
  return [
    ...row('speed', 'tokensPerSecond', 'tokens/s', { atLeast: 1 }),
    ...row('first token', 'firstTokenMs', 'ms'),
    ...(streams === 1 && peer ? [later(parley, peer)] : []),
    ...row('between tokens, median', 'gapMs', 'ms'),
    ...row('between tokens, 95 of 100', 'slowGapMs', 'ms'),
    ...row('processor time', 'cpuMsPerToken', 'ms/token'),
  ];
}

function later(parley: readonly Wave[], peer: readonly Wave[]): Row {
  const differences = parley.map((wave, round) => wave.firstTokenMs - (peer[round]?.firstTokenMs ?? wave.firstTokenMs));
  const what = '1 at once: first token later than the peer';
  return { bench: 'serve', what, value: median(differences), unit: 'ms', goal: { atMost: 5 } };
}
