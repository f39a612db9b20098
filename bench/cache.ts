import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compared } from './compare.ts';
import { type Contender, type Shape, startContenders, startParley } from './contender.ts';
import { nonsense } from './nonsense.ts';
import { type BenchOptions, benchModel } from './options.ts';
import type { Row } from './report.ts';
import { firstTokenMs } from './serve.ts';
import { median } from './statistics.ts';
import { streamCompletion, wordsFor } from './text-stream.ts';

const replyTokens = 16;
const wordsOfRules = 150;
const wordsOfTurn = 12;
const tokensOfLongRules = 3400;

interface Turn {
  readonly firstTokenMs: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

/** The position of the changing line determines how much of the text after it can be reused. */
const manners = { 'nothing changes': false, 'a counter near the top changes': true } as const;

/** An agent that sends its growing conversation again and again, as agents do; and once with a restart in the middle. */
export async function cacheBench(options: BenchOptions): Promise<Row[]> {
  const shape = {
    model: await benchModel(options),
    threads: options.threads ?? 2,
    context: 4096,
    parallel: 1,
    batch: 512,
    gpu: options.gpu,
  };
  const turns = options.quick ? 6 : 20;
  const rows: Row[] = [];
  const contenders = await startContenders(options, shape);
  try {
    for (const [number, [name, changing]] of Object.entries(manners).entries()) {
      const turnsBy = new Map<string, Turn[]>(contenders.map((contender) => [contender.name, []]));
      for (let turn = 0; turn < turns; turn += 1) {
        // The servers alternate turn by turn, so that both run under the same machine load.
        for (const contender of turn % 2 === 0 ? contenders : [...contenders].reverse()) {
          const [one] = await replay(contender, { turns: 1, changing, number: number + 1, from: turn, wordsOfRules });
          if (one) turnsBy.get(contender.name)?.push(one);
        }
      }
      for (const [server, all] of turnsBy) {
        options.log(`${server}, ${name}: ${all.map((turn) => turn.firstTokenMs.toFixed(0)).join(', ')} ms`);
      }
      rows.push(...rowsOf(name, turnsBy.get('Parley')?.slice(1) ?? [], turnsBy.get('peer')?.slice(1)));
    }
  } finally {
    for (const contender of contenders) await contender.stop();
  }
  return [...rows, ...(await restartedBench(options, shape))];
}

/** Continues a long conversation after a restart of the server. */
async function restartedBench(options: BenchOptions, shape: Shape): Promise<Row[]> {
  const turnsBy: { without: Turn[]; with: Turn[] } = { without: [], with: [] };
  for (let round = 0; round < (options.quick ? 1 : 3); round += 1) {
    const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'));
    try {
      turnsBy.without.push(await afterRestart(options, shape, []));
      turnsBy.with.push(await afterRestart(options, shape, ['--diskcache', folder]));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  const sooner = turnsBy.without.map(
    ({ firstTokenMs }, round) => firstTokenMs / (turnsBy.with[round]?.firstTokenMs ?? 1),
  );
  const tokens = median(turnsBy.with.map(({ promptTokens }) => promptTokens));
  return [
    { bench: 'cache', what: 'a restart in the middle: the prompt', value: tokens, unit: 'tokens' },
    ...rowsOf('after a restart without --diskcache', turnsBy.without, undefined),
    ...rowsOf('after a restart with --diskcache', turnsBy.with, undefined),
    {
      bench: 'cache',
      what: 'after a restart: first token sooner with --diskcache',
      value: median(sooner),
      unit: 'times',
      goal: { atLeast: 5 },
    },
  ];
}

async function afterRestart(options: BenchOptions, shape: Shape, flags: readonly string[]): Promise<Turn> {
  const course = { changing: false, number: 3 };
  const before = await startParley(options, shape, flags);
  let words = 0;
  try {
    words = await wordsFor(before, tokensOfLongRules);
    await replay(before, { ...course, turns: 2, from: 0, wordsOfRules: words });
  } finally {
    await before.stop();
  }
  const after = await startParley(options, shape, flags);
  try {
    const [first] = await replay(after, { ...course, turns: 1, from: 2, wordsOfRules: words });
    options.log(
      `after a restart ${flags.join(' ')}: ${first?.firstTokenMs.toFixed(0)} ms, ${first?.cachedTokens} reused`,
    );
    return first as Turn;
  } finally {
    await after.stop();
  }
}

interface Course {
  readonly turns: number;
  readonly changing: boolean;
  readonly number: number;
  /** The turn that the conversation has come to already. */
  readonly from: number;
  readonly wordsOfRules: number;
}

async function replay(contender: Contender, { turns, from, ...course }: Course): Promise<Turn[]> {
  const replayed: Turn[] = [];
  for (let turn = from; turn < from + turns; turn += 1) {
    const answer = await streamCompletion(contender, conversation(turn, course), replyTokens);
    const { promptTokens, cachedTokens } = answer;
    replayed.push({ firstTokenMs: firstTokenMs(answer), promptTokens, cachedTokens });
  }
  return replayed;
}

/**
 * What the agent sends at a turn. Its own answers are made up, so that every server gets the same; and it is one text,
 * since servers make different prompts of the same messages.
 */
export function conversation(
  turn: number,
  { changing, number, wordsOfRules: words }: Omit<Course, 'turns' | 'from'>,
): string {
  const line = changing ? `Requests so far: ${1000 + turn}.\n` : '';
  const past = Array.from({ length: turn }, (_, index) => [
    `User: ${nonsense(number * 1000 + index, wordsOfTurn)}`,
    `Agent: ${nonsense(number * 1000 + 500 + index, wordsOfTurn)}`,
  ]);
  const rules = `You are agent ${number}. Help.\n${line}${nonsense(number, words)}`;
  return [rules, ...past.flat(), `User: ${nonsense(number * 1000 + turn, wordsOfTurn)}`, 'Agent:'].join('\n');
}

function rowsOf(what: string, parley: readonly Turn[], peer: readonly Turn[] | undefined): Row[] {
  const row = (name: string, unit: string, of: (turn: Turn) => number): Row =>
    compared({ bench: 'cache', what: `${what}: ${name}`, unit }, { parley: parley.map(of), peer: peer?.map(of) });
  return [
    row('first token', 'ms', (turn) => turn.firstTokenMs),
    row('reused', '% of the prompt', (turn) => (turn.cachedTokens * 100) / turn.promptTokens),
  ];
}
