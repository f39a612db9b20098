import { mkdirSync, writeFileSync } from 'node:fs';
import { agentShapes, agentTemplate } from './agent-shapes.ts';
import { replayTurn } from './agents.ts';
import { type Contender, startParley, startPeer } from './contender.ts';
import { cachedModel } from './model-cache.ts';
import type { BenchOptions } from './options.ts';
import { type Exchange, recordedRequests } from './recorded-trace.ts';
import type { Row } from './report.ts';
import { wordsFor } from './text-stream.ts';

/** The clients to record, and the tokens of their replies: calls of an agent are short, answers of a chat are not. */
const clients = [
  { name: 'Claude Code', file: 'agent', reply: 40 },
  { name: 'Open WebUI', file: 'chat', reply: 160 },
] as const;
const turns = 8;
const maxRequests = 200;

/**
 * Records what a server sees of an agent and of a chat page as traces for the simulator (`bench/traces`): when requests come, what their
 * prompts share, how long replies are; no texts. With `--peer URL` it records what a running Parley (`--inspect`, `--admin`) has seen.
 */
export async function recordBench(options: BenchOptions): Promise<Row[]> {
  // The weights do not matter for what is recorded.
  const weights = { layers: 1, width: 64, heads: 2, kvHeads: 2, feedForward: 64 };
  const texts = { byteTokens: 'text', contextLength: 65_536, chatTemplate: agentTemplate } as const;
  const shape = { model: await cachedModel('random-tiny-agents', { ...texts, ...weights }), threads: 1 };
  const running = await startPeer(options.peer, shape);
  if (running) return [write('recorded', await exchangesOf(running))];
  const rows: Row[] = [];
  for (const { name, file, reply } of clients) {
    const server = await startParley(options, shape, ['--inspect', String(maxRequests), '--admin']);
    try {
      const words = (await wordsFor(server, 1000)) / 1000;
      await ask(server, '', { method: 'DELETE' });
      const shapes = agentShapes({ words, turns, scale: 1 });
      const client = shapes.find((one) => one.name === name);
      if (!client) throw new Error(`there is no client ${name}`);
      const longer = (turn: number) => ({
        ...client.turn(turn),
        body: { ...client.turn(turn).body, max_tokens: reply },
      });
      for (let turn = 0; turn < turns; turn += 1) await replayTurn(server, { ...client, turn: longer }, turn);
      rows.push(write(file, await exchangesOf(server)));
    } finally {
      await server.stop();
    }
  }
  return rows;
}

function write(name: string, exchanges: readonly Exchange[]): Row {
  const requests = recordedRequests(exchanges);
  mkdirSync('bench/traces', { recursive: true });
  const lines = requests.map((request) => `  ${JSON.stringify(request)}`);
  writeFileSync(`bench/traces/${name}.json`, `[\n${lines.join(',\n')}\n]\n`);
  return { bench: 'record', what: `bench/traces/${name}.json`, value: requests.length, unit: 'requests' };
}

interface Summary {
  readonly id: string;
  readonly time: string;
  readonly duration_ms: number;
  readonly outcome: string;
}

interface Generation {
  readonly memory: string;
  readonly prompt: string;
  readonly completion_tokens: number | null;
}

/** The completed requests in the order of their arrival. */
async function exchangesOf(server: Contender): Promise<Exchange[]> {
  const { requests } = await ask<{ requests: readonly Summary[] }>(server, '');
  const exchanges: Exchange[] = [];
  for (const { id, time, duration_ms, outcome } of [...requests].reverse()) {
    if (outcome !== 'completed') continue;
    const { generations } = await ask<{ generations: readonly Generation[] }>(server, `/${id}`);
    for (const { memory, prompt, completion_tokens } of generations) {
      const startedAt = Date.parse(time);
      const tokens = await tokensOf(server, memory + prompt);
      exchanges.push({ startedAt, endedAt: startedAt + duration_ms, prompt: tokens, reply: completion_tokens ?? 0 });
    }
  }
  return exchanges;
}

async function ask<Answer>({ host, port }: Contender, path: string, init: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(`http://${host}:${port}/api/extra/requests${path}`, init);
  if (!answer.ok) throw new Error(`the server does not show its requests (--inspect, --admin): ${answer.status}`);
  return (await answer.json()) as Answer;
}

async function tokensOf({ host, port }: Contender, prompt: string): Promise<readonly number[]> {
  const answer = await fetch(`http://${host}:${port}/api/extra/tokencount`, {
    method: 'POST',
    body: JSON.stringify({ prompt }),
  });
  return ((await answer.json()) as { ids: readonly number[] }).ids;
}
