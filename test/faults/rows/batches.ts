import OpenAI, { toFile } from 'openai';
import { expect } from 'vitest';
import type { LiveServer, StartServer } from '../../live/server.ts';
import { type Fault, faultGroup, type Subject } from '../fault.ts';
import { workerOf } from '../processes.ts';
import { serve } from '../services.ts';
import { until } from '../until.ts';

interface Setting extends Subject {
  readonly start: StartServer;
}

const clientOf = ({ base }: LiveServer) => new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 });
const requests = 6;

/** Sends a batch and resolves with its id. */
async function createBatch(server: LiveServer): Promise<string> {
  const client = clientOf(server);
  const body = { model: 'any', max_tokens: 48, messages: [{ role: 'user', content: 'Tell me a story.' }] };
  const lines = Array.from({ length: requests }, (_, index) =>
    JSON.stringify({ custom_id: `r${index}`, method: 'POST', url: '/v1/chat/completions', body }),
  );
  const file = await client.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'b.jsonl'),
    purpose: 'batch',
  });
  const { id } = await client.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  return id;
}

/** Resolves when one reply is there, and not all. */
async function underWay(server: LiveServer, id: string): Promise<void> {
  await until(async () => {
    const { request_counts: counts } = await clientOf(server).batches.retrieve(id);
    return (counts?.completed ?? 0) > 0;
  });
}

/** Rejects until it has ended, with a reply for each request. */
async function completed(server: LiveServer, id: string): Promise<true> {
  const client = clientOf(server);
  const batch = await client.batches.retrieve(id);
  expect(batch).toMatchObject({ status: 'completed', request_counts: { total: requests, completed: requests } });
  const output = await (await client.files.content(batch.output_file_id ?? '')).text();
  const ids = output.trim().split('\n');
  expect(ids.map((line) => (JSON.parse(line) as { custom_id: string }).custom_id).sort()).toEqual(
    Array.from({ length: requests }, (_, index) => `r${index}`),
  );
  return true;
}

const rows: readonly Fault<Setting>[] = [
  {
    name: 'text engine killed while a batch runs',
    kind: 'text',
    inject: async ({ server }) => {
      const id = await createBatch(server);
      await underWay(server, id);
      process.kill(await workerOf(server, 'llama'), 'SIGKILL');
      await until(() => completed(server, id));
    },
  },
  {
    name: 'server killed while a batch runs',
    kind: 'text',
    inject: async ({ start }) => {
      const first = await start([]);
      const id = await createBatch(first);
      await underWay(first, id);
      process.kill(first.pid, 'SIGKILL');
      await first.exited;
      // Replies that were stored are not computed again.
      const second = await start([]);
      await until(() => completed(second, id));
      await second.stop();
    },
  },
];

async function opened(start: StartServer): Promise<Setting> {
  const server = await start([]);
  return { server, start, serves: () => serve(server.base, 'text'), intact: async () => undefined };
}

export const batches = (start: StartServer) =>
  faultGroup<Setting>({ name: 'batches', open: () => opened(start), rows });
