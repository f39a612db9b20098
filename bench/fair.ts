import { numberOf, readGguf, textOf } from '../src/gguf/gguf.ts';
import { compared } from './compare.ts';
import { type Contender, startContenders } from './contender.ts';
import { nonsense } from './nonsense.ts';
import { type BenchOptions, benchModel } from './options.ts';
import type { Goal, Row } from './report.ts';
import { firstTokenMs } from './serve.ts';
import { gaps, percentile } from './statistics.ts';
import { type StreamedText, streamCompletion, wordsFor } from './text-stream.ts';

const runningStreams = 4;
const runningTokens = { quick: 150, full: 400 };

interface Meeting {
  readonly worstGapMs: number;
  readonly slowGapMs: number;
  readonly longFirstTokenMs: number;
  readonly longPromptTokens: number;
}

/** A long prompt arrives while other streams run: gaps in these streams, and its own time to first token. */
export async function fairBench(options: BenchOptions): Promise<Row[]> {
  const model = await benchModel(options);
  const long =
    (await trainedContext(model)) >= 5120 ? { context: 5120, tokens: 4000 } : { context: 2048, tokens: 1500 };
  const shape = {
    model,
    threads: options.threads ?? 2,
    context: long.context,
    parallel: runningStreams + 1,
    batch: 512,
  };
  const contenders = await startContenders(options, shape);
  const meetings = new Map<string, Meeting[]>(contenders.map(({ name }) => [name, []]));
  const rounds = options.quick ? 1 : 5;
  try {
    const counts: number[] = [];
    for (const contender of contenders) counts.push(await wordsFor(contender, long.tokens));
    const words = counts[0] as number;
    for (let round = 0; round < rounds; round += 1) {
      for (const contender of round % 2 === 0 ? contenders : [...contenders].reverse()) {
        const meeting = await meet(contender, { round, words, quick: options.quick });
        meetings.get(contender.name)?.push(meeting);
        const { worstGapMs, longPromptTokens } = meeting;
        options.log(
          `${contender.name}: a prompt of ${longPromptTokens} tokens made others wait ${worstGapMs.toFixed(0)} ms`,
        );
      }
    }
  } finally {
    for (const contender of contenders) await contender.stop();
  }
  return rowsOf(meetings.get('Parley') ?? [], meetings.get('peer'));
}

async function trainedContext(model: string): Promise<number> {
  const header = await readGguf(model);
  return numberOf(header, `${textOf(header, 'general.architecture')}.context_length`) ?? 0;
}

interface Order {
  readonly round: number;
  readonly words: number;
  readonly quick: boolean;
}

async function meet(contender: Contender, { round, words, quick }: Order): Promise<Meeting> {
  const tokens = quick ? runningTokens.quick : runningTokens.full;
  const running = Array.from({ length: runningStreams }, (_, index) =>
    streamCompletion(contender, nonsense(round * 10 + index, 20), tokens),
  );
  // Failures are handled below; this avoids an unhandled rejection until then.
  for (const one of running) one.catch(() => undefined);
  // A separate request waits in the same queue: when it is done, the streams are running.
  await streamCompletion(contender, nonsense(round * 10 + 8, 20), 8);
  const long = await streamCompletion(contender, nonsense(round * 10 + 9, words), 8);
  const answers = await Promise.all(running);
  // Only the time that the long one was there counts.
  const between = answers.flatMap((answer) => gaps(during(answer, long)));
  if (between.length === 0) throw new Error(`${contender.name} had ended the others before the long prompt came`);
  return {
    worstGapMs: Math.max(...between),
    slowGapMs: percentile(between, 0.95),
    longFirstTokenMs: firstTokenMs(long),
    longPromptTokens: long.promptTokens,
  };
}

/** The arrivals while the other one was asked and had no answer yet, with the one before and the one behind. */
export function during({ arrivals }: StreamedText, long: StreamedText): readonly number[] {
  const until = long.arrivals[0] as number;
  const first = arrivals.findLastIndex((moment) => moment <= long.askedAt);
  const last = arrivals.findIndex((moment) => moment >= until);
  return arrivals.slice(Math.max(0, first), last < 0 ? arrivals.length : last + 1);
}

function rowsOf(parley: readonly Meeting[], peer: readonly Meeting[] | undefined): Row[] {
  const row = (what: string, of: keyof Meeting, unit = 'ms', goal?: Goal): Row => {
    const values = (meetings: readonly Meeting[]): number[] => meetings.map((meeting) => meeting[of]);
    return compared({ bench: 'fair', what, unit }, { parley: values(parley), peer: peer && values(peer) }, goal);
  };
  return [
    row('the long prompt', 'longPromptTokens', 'tokens'),
    row('its first token', 'longFirstTokenMs'),
    row('others, longest gap', 'worstGapMs', 'ms', { atMost: 0.5 }),
    row('others, 95 gaps of 100', 'slowGapMs'),
  ];
}
