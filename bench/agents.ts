import { compared } from './compare.ts';
import { type Contender, memoryOf, startContenders } from './contender.ts';
import { nonsense } from './nonsense.ts';
import { type BenchOptions, benchModel } from './options.ts';
import type { Row } from './report.ts';
import { firstTokenMs } from './serve.ts';
import { streamCompletion, wordsFor } from './text-stream.ts';

const replyTokens = 8;

/** A client with one long conversation, and the requests that it sends between its turns; lengths in words. */
export interface AgentShape {
  readonly name: string;
  /** Of the system prompt with its tools. */
  readonly rules: number;
  readonly turns: number;
  /** Of a message of the person or a result of a tool, and of an answer. */
  readonly turn: number;
  readonly sides: (turn: number, chat: string, shape: AgentShape) => readonly string[];
}

/** Shapes of traffic, as recorded from coding agents and chat pages; the words are made up. */
export const shapes = (rules: number, turns: number): readonly AgentShape[] => [
  { name: 'coding agent', rules, turns, turn: 60, sides: agentRequests },
  { name: 'chat page', rules: Math.ceil(rules / 20), turns, turn: 60, sides: pageRequests },
];

/** A title and a question about the topic; in the middle, two sub-agents with the same rules work beside the chat. */
function agentRequests(turn: number, _: string, shape: AgentShape): string[] {
  const title = `Write a title.\nUser: ${nonsense(7000 + turn, 80)}\nTitle:`;
  const topic = `Is this a new topic?\nUser: ${nonsense(8000 + turn, 30)}\nAnswer:`;
  const working = turn >= shape.turns / 3 && turn < (2 * shape.turns) / 3;
  const subAgents = [1, 2].map((number) => conversation({ ...shape, number }, turn));
  return [title, topic, ...(working ? subAgents : [])];
}

/** A title, tags and follow-up questions, each of which quotes the chat. */
function pageRequests(_: number, chat: string): string[] {
  const tasks = ['a concise title', 'one to three tags', 'three follow-up questions'];
  return tasks.map((task) => `### Task:\nWrite ${task}.\n<chat_history>\n${chat}\n</chat_history>\n`);
}

/** What the client sends at a turn. The answers are made up too, so that every server is told the same. */
export function conversation(
  { rules, turn: words, number = 0 }: AgentShape & { number?: number },
  turn: number,
): string {
  const message = (index: number) => nonsense(number * 1000 + index, words);
  const past = Array.from({ length: turn }, (__, index) => [
    `User: ${message(index)}`,
    `Agent: ${message(500 + index)}`,
  ]);
  return [`Help.\n${nonsense(1, rules)}`, ...past.flat(), `User: ${message(turn)}`, 'Agent:'].join('\n');
}

interface Turn {
  readonly firstTokenMs: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

/** Agents and chat pages with a long conversation and requests between its turns: what is computed again. */
export async function agentsBench(options: BenchOptions): Promise<Row[]> {
  const [rulesTokens, turns, context] = options.quick ? [1500, 6, 4096] : [12_000, 20, 32_768];
  const contenders = await startContenders(options, {
    model: await benchModel(options),
    threads: options.threads ?? 2,
    context,
    parallel: 1,
    batch: 512,
    gpu: options.gpu,
  });
  const rows: Row[] = [];
  try {
    const words = await wordsFor(contenders[0] as Contender, rulesTokens);
    for (const shape of shapes(words, turns)) {
      const seen = new Map<string, Turn[]>(contenders.map(({ name }) => [name, []]));
      for (let turn = 0; turn < turns; turn += 1) {
        // The servers alternate turn by turn, so that both run under the same machine load.
        for (const contender of turn % 2 === 0 ? contenders : [...contenders].reverse()) {
          seen.get(contender.name)?.push(await replayTurn(contender, shape, turn));
        }
      }
      for (const [server, all] of seen) {
        options.log(
          `${server}, ${shape.name}: ${all.map(({ firstTokenMs }) => firstTokenMs.toFixed(0)).join(', ')} ms`,
        );
      }
      rows.push(...rowsOf(shape.name, seen.get('Parley') ?? [], seen.get('peer'), contenders));
    }
    return rows;
  } finally {
    for (const contender of contenders) await contender.stop();
  }
}

async function replayTurn(contender: Contender, shape: AgentShape, turn: number): Promise<Turn> {
  const chat = conversation(shape, turn);
  const { promptTokens, cachedTokens, ...times } = await streamCompletion(contender, chat, replyTokens);
  for (const side of shape.sides(turn, chat, shape)) await streamCompletion(contender, side, replyTokens);
  return { firstTokenMs: firstTokenMs({ promptTokens, cachedTokens, ...times }), promptTokens, cachedTokens };
}

/** The tokens of the turns after the first that were computed although the turn before had them, in percent of what was new. */
export function computedAgain(turns: readonly Omit<Turn, 'firstTokenMs'>[]): number {
  let [again, fresh] = [0, 0];
  for (const [index, { promptTokens, cachedTokens }] of turns.entries()) {
    const before = turns[index - 1];
    if (!before) continue;
    const added = promptTokens - before.promptTokens;
    fresh += added;
    again += Math.max(0, promptTokens - cachedTokens - added);
  }
  return fresh === 0 ? 0 : (again * 100) / fresh;
}

function rowsOf(
  name: string,
  parley: readonly Turn[],
  peer: readonly Turn[] | undefined,
  contenders: readonly Contender[],
): Row[] {
  const row = (what: string, unit: string, of: (turns: readonly Turn[]) => number): Row =>
    compared({ bench: 'agents', what: `${name}: ${what}`, unit }, { parley: [of(parley)], peer: peer && [of(peer)] });
  const [own, other] = contenders.map(memoryOf);
  const sum = (turns: readonly Turn[]) => turns.slice(1).reduce((total, turn) => total + turn.firstTokenMs, 0);
  return [
    row('the last prompt', 'tokens', (turns) => turns.at(-1)?.promptTokens ?? 0),
    { ...row('computed again', '% of what was new', computedAgain), goal: { atMost: 5 } },
    row('the first turn: first token', 'ms', (turns) => turns[0]?.firstTokenMs ?? 0),
    { ...row('all later turns: first tokens', 'ms', sum), ratioGoal: { atMost: 1 } },
    compared(
      { bench: 'agents', what: `${name}: memory`, unit: 'MB' },
      { parley: [own ?? 0], peer: other === undefined ? undefined : [other] },
    ),
  ];
}
