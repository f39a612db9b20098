import { compared } from './compare.ts';
import { type Contender, startContenders } from './contender.ts';
import { cachedModel } from './model-cache.ts';
import { nonsense } from './nonsense.ts';
import type { BenchOptions } from './options.ts';
import type { RandomModelOptions } from './random-model.ts';
import type { Goal, Row } from './report.ts';
import { firstTokenMs } from './serve.ts';
import { median } from './statistics.ts';
import { samplingShare, stepSeconds } from './step-seconds.ts';
import { greedy, type SamplingFields, streamCompletion, wordsFor } from './text-stream.ts';

/** One line of the table: a way of choosing tokens, and how many streams there are at once. */
interface Load {
  readonly title: string;
  readonly sampling: SamplingFields;
  readonly streams: readonly number[];
  readonly replyTokens: number;
  /** Of the peer, at 32 streams; 1 at any other number. */
  readonly goalAt32?: number;
  /** The most that sampling may take of a step with 32 streams, in percent. */
  readonly mostSampling?: number;
}

interface Case {
  readonly name: string;
  readonly weights: RandomModelOptions;
  readonly loads: readonly Load[];
}

const allStreams = [1, 2, 4, 8, 16, 32, 64];

/** What most apps send. */
const defaultSampling: SamplingFields = {
  temperature: 0.8,
  top_k: 40,
  top_p: 0.95,
  min_p: 0.05,
  repeat_penalty: 1,
  rep_pen: 1,
};
const minP: SamplingFields = { temperature: 0.8, top_k: 0, top_p: 1, min_p: 0.05, repeat_penalty: 1, rep_pen: 1 };
const topP: SamplingFields = { temperature: 0.8, top_k: 0, top_p: 0.9, min_p: 0, repeat_penalty: 1.1, rep_pen: 1.1 };

/** A model of the usual size, and a smaller one with many tokens to choose from, where choosing costs more than computing. */
const cases: readonly Case[] = [
  {
    name: '7.3 B, vocabulary 36k',
    weights: { layers: 32, width: 4096, heads: 32, kvHeads: 8, feedForward: 14_336, vocabulary: 36_000 },
    loads: [{ title: 'usual', sampling: defaultSampling, streams: allStreams, replyTokens: 128 }],
  },
  {
    name: '4.7 B, vocabulary 152k',
    weights: { layers: 24, width: 3584, heads: 28, kvHeads: 4, feedForward: 11_264, vocabulary: 152_000 },
    loads: [
      {
        title: 'usual',
        sampling: defaultSampling,
        streams: allStreams,
        replyTokens: 128,
        goalAt32: 2,
        mostSampling: 10,
      },
      { title: 'temperature 0', sampling: greedy, streams: allStreams, replyTokens: 128 },
      { title: 'min-p, no top-k', sampling: minP, streams: allStreams, replyTokens: 128 },
      // Some servers need a second for 70 of these tokens.
      { title: 'top-p and penalty, no top-k', sampling: topP, streams: allStreams, replyTokens: 24, mostSampling: 25 },
    ],
  },
];

const parallel = 32;
const contextTokens = 4096;
const promptWords = 40;
const longPromptTokens = 3432;

/** Both servers with all layers on a GPU, in turn: where computing is cheap, choosing and sending show. */
export async function gpuBench(options: BenchOptions): Promise<Row[]> {
  if (options.model !== undefined) {
    return measureCase(options, options.model, { name: 'the model', weights: {}, loads: cases[1]?.loads ?? [] });
  }
  const rows: Row[] = [];
  for (const one of cases) {
    const file = `random-${one.name.replace(/\W+/g, '-').toLowerCase()}`;
    options.log(`${one.name}: writing it takes some minutes the first time`);
    const model = await cachedModel(file, { ...one.weights, byteTokens: 'text', contextLength: contextTokens });
    rows.push(...(await measureCase(options, model, one)));
  }
  return rows;
}

async function measureCase(options: BenchOptions, model: string, { name, loads }: Case): Promise<Row[]> {
  const shape = { model, threads: options.threads ?? 4, context: contextTokens, parallel, batch: 512, gpu: true };
  const contenders = await startContenders(options, shape);
  const rounds = options.quick ? 1 : 5;
  const rows: Row[] = [];
  try {
    for (const load of loads) {
      for (const streams of load.streams) {
        rows.push(
          ...(await measureLoad(options, contenders, { name: `${name}, ${load.title}`, load, streams, rounds })),
        );
      }
    }
    const words = await wordsFor(contenders[0] as Contender, longPromptTokens);
    const reading = await inTurns(contenders, rounds, (contender, round) => readingSpeed(contender, round, words));
    rows.push(compared({ bench: 'gpu', what: `${name}, reading a prompt`, unit: 'tokens/s' }, reading, { atLeast: 1 }));
  } finally {
    for (const contender of contenders) await contender.stop();
  }
  return rows;
}

interface Cell {
  readonly name: string;
  readonly load: Load;
  readonly streams: number;
  readonly rounds: number;
}

async function measureLoad(
  { log }: BenchOptions,
  contenders: readonly Contender[],
  { name, load, streams, rounds }: Cell,
): Promise<Row[]> {
  const { sampling, replyTokens, goalAt32 = 1, mostSampling } = load;
  const shares: number[] = [];
  const speeds = await inTurns(contenders, rounds, async (contender, round) => {
    const before = await stepSeconds(contender);
    const speed = await tokensPerSecond(contender, { sampling, streams, replyTokens, number: round * 100 + streams });
    const after = await stepSeconds(contender);
    if (before && after && round > 0) shares.push(samplingShare(before, after));
    return speed;
  });
  const what = `${name}, ${streams} at once`;
  const row = (part: string, value: number, goal?: Goal): Row => {
    return { bench: 'gpu', what: `${what}: ${part}`, value, unit: '%', ...(goal && { goal }) };
  };
  const peerSpeeds = speeds.peer?.map((speed) => speed.toFixed(0)).join(', ') ?? 'none';
  log(`${what}: ${speeds.parley.map((speed) => speed.toFixed(0)).join(', ')} tokens/s; peer: ${peerSpeeds}`);
  const ratioGoal = { atLeast: streams === 32 ? goalAt32 : 1 };
  const shareGoal = streams === 32 && mostSampling !== undefined ? { atMost: mostSampling } : undefined;
  return [
    compared({ bench: 'gpu', what, unit: 'tokens/s' }, speeds, ratioGoal),
    ...(shares.length > 0 ? [row('sampling, of a step', median(shares) * 100, shareGoal)] : []),
    ...(rounds >= 5 ? [row('spread', spread(speeds.parley) * 100, { atMost: 5 })] : []),
  ];
}

function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / median(values);
}

/** One round more than counted, which warms both up; who goes first changes from round to round. */
async function inTurns(
  contenders: readonly Contender[],
  rounds: number,
  measure: (contender: Contender, round: number) => Promise<number>,
): Promise<{ parley: readonly number[]; peer: readonly number[] | undefined }> {
  const figures = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const contender of round % 2 === 0 ? contenders : [...contenders].reverse()) {
      const figure = await measure(contender, round);
      if (round > 0) figures.get(contender.name)?.push(figure);
    }
  }
  return { parley: figures.get('Parley') ?? [], peer: figures.get('peer') };
}

interface Wave {
  readonly sampling: SamplingFields;
  readonly streams: number;
  readonly replyTokens: number;
  readonly number: number;
}

async function tokensPerSecond(contender: Contender, wave: Wave): Promise<number> {
  const startedAt = performance.now();
  const answers = await Promise.all(
    Array.from({ length: wave.streams }, (_, index) =>
      streamCompletion(contender, nonsense(wave.number * 100 + index, promptWords), wave.replyTokens, wave.sampling),
    ),
  );
  const endedAt = Math.max(...answers.map((answer) => answer.endedAt));
  return (answers.reduce((sum, { tokens }) => sum + tokens, 0) * 1000) / (endedAt - startedAt);
}

async function readingSpeed(contender: Contender, round: number, words: number): Promise<number> {
  const answer = await streamCompletion(contender, nonsense(round + 700, words), 8);
  return (answer.promptTokens * 1000) / firstTokenMs(answer);
}
