import { type AgentShape, agentShapes, agentTemplate, type ClientRequest } from './agent-shapes.ts';
import { compared } from './compare.ts';
import { type Contender, memoryOf, startContenders } from './contender.ts';
import { cachedModel } from './model-cache.ts';
import type { BenchOptions } from './options.ts';
import type { Row } from './report.ts';
import { firstTokenMs } from './serve.ts';
import { streamText, wordsFor } from './text-stream.ts';

interface Turn {
  readonly firstTokenMs: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

/** The replay of one client against one server. */
interface ClientReplay {
  readonly turns: Turn[];
  /** Of the sub-agents that work beside a turn. */
  readonly sideTurns: Turn[];
  anew?: Turn;
  megabytes?: number | undefined;
}

/** Agents and chat pages with a long conversation and requests between its turns, each server with its own defaults. */
export async function agentsBench(options: BenchOptions): Promise<Row[]> {
  const [turns, scale] = options.quick ? [6, 1 / 8] : [20, 1];
  const model =
    options.model ??
    (await cachedModel('random-124m-agents', {
      byteTokens: 'text',
      contextLength: 65_536,
      chatTemplate: agentTemplate,
    }));
  const rows: Row[] = [];
  const names = agentShapes({ words: 1, turns, scale }).map(({ name }) => name);
  const { client } = options;
  if (client !== undefined && !names.includes(client)) throw new Error(`--client is one of ${names.join(', ')}`);
  for (const name of client === undefined ? names : [client]) {
    // New servers for each client: what they keep of one would count for the memory of the next.
    const contenders = await startContenders(options, { model, threads: options.threads ?? 2, gpu: options.gpu });
    try {
      const wordsPerToken = (await wordsFor(contenders[0] as Contender, 1000)) / 1000;
      const shape = agentShapes({ words: wordsPerToken, turns, scale }).find((one) => one.name === name) as AgentShape;
      const replays = await replay(shape, turns, contenders);
      for (const [server, { turns: all, sideTurns }] of replays) {
        options.log(`${server}, ${name}: ${firstTokens(all)} ms`);
        if (sideTurns.length > 0) options.log(`${server}, ${name}, its sub-agents: ${firstTokens(sideTurns)} ms`);
      }
      rows.push(...rowsOf(name, replays.get('Parley') as ClientReplay, replays.get('peer')));
    } finally {
      for (const contender of contenders) await contender.stop();
    }
  }
  return rows;
}

async function replay(
  shape: AgentShape,
  turns: number,
  contenders: readonly Contender[],
): Promise<Map<string, ClientReplay>> {
  const replays = new Map<string, ClientReplay>(contenders.map(({ name }) => [name, { turns: [], sideTurns: [] }]));
  for (let turn = 0; turn < turns; turn += 1) {
    // The servers alternate turn by turn, so that both run under the same machine load.
    for (const contender of turn % 2 === 0 ? contenders : [...contenders].reverse()) {
      const [main, ...beside] = await replayTurn(contender, shape, turn);
      replays.get(contender.name)?.turns.push(main);
      replays.get(contender.name)?.sideTurns.push(...beside);
    }
  }
  for (const contender of contenders) {
    const one = replays.get(contender.name) as ClientReplay;
    one.anew = await ask(contender, shape.anew);
    one.megabytes = memoryOf(contender);
  }
  return replays;
}

export async function replayTurn(contender: Contender, shape: AgentShape, turn: number): Promise<[Turn, ...Turn[]]> {
  const beside = shape.sideRequests(turn).map((request) => ask(contender, request));
  const answered = await Promise.all([ask(contender, shape.turn(turn)), ...beside] as const);
  for (const request of shape.after(turn)) await ask(contender, request);
  return answered;
}

async function ask(contender: Contender, { path, body, headers }: ClientRequest): Promise<Turn> {
  const streamed = await streamText(contender, path, { temperature: 0, ignore_eos: true, ...body }, headers);
  const { promptTokens, cachedTokens } = streamed;
  return { firstTokenMs: firstTokenMs(streamed), promptTokens, cachedTokens };
}

const firstTokens = (turns: readonly Turn[]) =>
  turns
    .map(
      ({ firstTokenMs, promptTokens, cachedTokens }) => `${firstTokenMs.toFixed(0)} (${promptTokens - cachedTokens})`,
    )
    .join(', ');

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

function rowsOf(name: string, parley: ClientReplay, peer: ClientReplay | undefined): Row[] {
  const row = (what: string, unit: string, of: (replay: ClientReplay) => number): Row =>
    compared({ bench: 'agents', what: `${name}: ${what}`, unit }, { parley: [of(parley)], peer: peer && [of(peer)] });
  const later = ({ turns }: ClientReplay) => turns.slice(1).reduce((total, turn) => total + turn.firstTokenMs, 0);
  return [
    row('the last prompt', 'tokens', ({ turns }) => turns.at(-1)?.promptTokens ?? 0),
    { ...row('computed again', '% of what was new', ({ turns }) => computedAgain(turns)), goal: { atMost: 5 } },
    row('the first turn: first token', 'ms', ({ turns }) => turns[0]?.firstTokenMs ?? 0),
    { ...row('all later turns: first tokens', 'ms', later), ratioGoal: { atMost: 1 } },
    row('another conversation: computed', 'tokens', ({ anew }) => (anew ? anew.promptTokens - anew.cachedTokens : 0)),
    row('memory', 'MB', ({ megabytes }) => megabytes ?? 0),
  ];
}
