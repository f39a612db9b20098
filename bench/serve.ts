import { type Contender, cpuOf, memoryOf, startContenders } from './contender.ts';
import { nonsense } from './nonsense.ts';
import { type BenchOptions, benchModel } from './options.ts';
import type { Row } from './report.ts';
import { gaps, median, percentile } from './statistics.ts';
import { type StreamedText, streamCompletion } from './text-stream.ts';

export const concurrencies = [1, 2, 4, 8, 16] as const;
const promptWords = 40;

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
  const contenders = await startContenders(options, { ...shape, batch: 512 });
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
          const wave = await oneWave(contender, { streams, replyTokens, number: round * 100 + streams });
          if (round > 0) waves.get(contender.name)?.push(wave);
        }
      }
      for (const { name } of contenders) {
        const all = waves.get(name) ?? [];
        options.log(
          `${name}, ${streams} at once: ${all.map((one) => one.tokensPerSecond.toFixed(0)).join(', ')} tokens/s`,
        );
        rows.push(...waveRows(`${name}, ${streams} at once`, all));
      }
    }
    for (const contender of contenders) {
      const value = memoryOf(contender);
      if (value !== undefined)
        rows.push({ bench: 'serve', what: `${contender.name}, memory after it`, value, unit: 'MB' });
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

function waveRows(what: string, waves: readonly Wave[]): Row[] {
  const of = (name: string, unit: string, values: readonly (number | undefined)[]): Row[] => {
    const known = values.filter((value) => value !== undefined);
    return known.length > 0 ? [{ bench: 'serve', what: `${what}: ${name}`, value: median(known), unit }] : [];
  };
  return [
    ...of(
      'speed',
      'tokens/s',
      waves.map((wave) => wave.tokensPerSecond),
    ),
    ...of(
      'first token',
      'ms',
      waves.map((wave) => wave.firstTokenMs),
    ),
    ...of(
      'between tokens, median',
      'ms',
      waves.map((wave) => wave.gapMs),
    ),
    ...of(
      'between tokens, 95 of 100',
      'ms',
      waves.map((wave) => wave.slowGapMs),
    ),
    ...of(
      'processor time',
      'ms/token',
      waves.map((wave) => wave.cpuMsPerToken),
    ),
  ];
}
