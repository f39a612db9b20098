import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Contender, type Shape, startContenders, startParley } from './contender.ts';
import { nonsense } from './nonsense.ts';
import { type BenchOptions, benchModel } from './options.ts';
import type { Row } from './report.ts';
import { firstTokenMs } from './serve.ts';
import { median } from './statistics.ts';
import { streamChat } from './text-stream.ts';

const replyTokens = 16;
const wordsOfRules = 150;
const wordsOfTurn = 12;

interface Turn {
  readonly firstTokenMs: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

/** Where the changing line stands decides what can be reused of everything behind it. */
const manners = { 'nothing changes': false, 'a counter near the top changes': true } as const;

/** An agent that sends its growing conversation again and again, as agents do; and once with a restart in the middle. */
export async function cacheBench(options: BenchOptions): Promise<Row[]> {
  const shape = {
    model: await benchModel(options),
    threads: options.threads ?? 2,
    context: 4096,
    parallel: 1,
    batch: 512,
  };
  const turns = options.quick ? 6 : 20;
  const rows: Row[] = [];
  const contenders = await startContenders(options, shape);
  try {
    for (const [number, [name, changing]] of Object.entries(manners).entries()) {
      for (const contender of contenders) {
        const seen = await replay(contender, { turns, changing, number: number + 1, from: 0 });
        options.log(`${contender.name}, ${name}: ${seen.map((turn) => turn.firstTokenMs.toFixed(0)).join(', ')} ms`);
        rows.push(...rowsOf(`${contender.name}, ${name}`, seen.slice(1)));
      }
    }
  } finally {
    for (const contender of contenders) await contender.stop();
  }
  return [...rows, ...(await restarted(options, shape, turns))];
}

/** The second half of the conversation goes to a server that was not there for the first. */
async function restarted(options: BenchOptions, shape: Shape, turns: number): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  const half = Math.floor(turns / 2);
  try {
    const rows: Row[] = [];
    for (const [name, flags] of [
      ['without --diskcache', []],
      ['with --diskcache', ['--diskcache', folder]],
    ] as const) {
      const before = await startParley(options, shape, flags);
      await replay(before, { turns: half, changing: false, number: 3, from: 0 }).finally(() => before.stop());
      const after = await startParley(options, shape, flags);
      const [first] = await replay(after, { turns: 1, changing: false, number: 3, from: half }).finally(() =>
        after.stop(),
      );
      if (first) rows.push(...rowsOf(`Parley, first turn after a restart ${name}`, [first]));
    }
    return rows;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Course {
  readonly turns: number;
  readonly changing: boolean;
  readonly number: number;
  /** The turn that the conversation has come to already. */
  readonly from: number;
}

async function replay(contender: Contender, { turns, changing, number, from }: Course): Promise<Turn[]> {
  const seen: Turn[] = [];
  for (let turn = from; turn < from + turns; turn += 1) {
    const answer = await streamChat(contender, conversation(turn, { changing, number }), replyTokens);
    const { promptTokens, cachedTokens } = answer;
    seen.push({ firstTokenMs: firstTokenMs(answer), promptTokens, cachedTokens });
  }
  return seen;
}

/** What the agent sends at a turn. Its own answers are made up, so that every server is told the same. */
export function conversation(
  turn: number,
  { changing, number }: { readonly changing: boolean; readonly number: number },
): { role: string; content: string }[] {
  const line = changing ? `Requests so far: ${1000 + turn}.\n` : '';
  const rules = `You are agent ${number}. Help.\n${line}${nonsense(number, wordsOfRules)}`;
  const past = Array.from({ length: turn }, (_, index) => [
    { role: 'user', content: nonsense(number * 1000 + index, wordsOfTurn) },
    { role: 'assistant', content: nonsense(number * 1000 + 500 + index, wordsOfTurn) },
  ]);
  const now = { role: 'user', content: nonsense(number * 1000 + turn, wordsOfTurn) };
  return [{ role: 'system', content: rules }, ...past.flat(), now];
}

function rowsOf(what: string, turns: readonly Turn[]): Row[] {
  const share = (turn: Turn): number => (turn.cachedTokens * 100) / turn.promptTokens;
  return [
    { bench: 'cache', what: `${what}: first token`, value: median(turns.map((turn) => turn.firstTokenMs)), unit: 'ms' },
    { bench: 'cache', what: `${what}: reused`, value: median(turns.map(share)), unit: '% of the prompt' },
  ];
}
