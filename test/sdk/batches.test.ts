import { randomUUID } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { describe, expect, test } from 'vitest';
import { neverEnding } from '../live/client.ts';
import { untrainedServers } from '../live/server.ts';
import { anthropicClient, openaiClient } from './clients.ts';
import { liveClients } from './live-clients.ts';

const startServer = untrainedServers();
const live = liveClients(['--parallelrequests', '2'], {}, startServer);

const messages = [{ role: 'user' as const, content: 'Name a colour.' }];
const chat = { model: 'any', messages, max_tokens: 4, temperature: 0, ...neverEnding };

const inputFile = async (client: OpenAI, requests: readonly object[]) => {
  const text = requests.map((request) => JSON.stringify(request)).join('\n');
  return client.files.create({ file: await toFile(Buffer.from(text), 'in.jsonl'), purpose: 'batch' });
};

type Endpoint = OpenAI.BatchCreateParams['endpoint'];
const requestOf = (url: Endpoint, body: object, custom_id: string = randomUUID()) => ({
  custom_id,
  method: 'POST',
  url,
  body,
});

async function ended(client: OpenAI, id: string): Promise<OpenAI.Batch> {
  const over = ['completed', 'failed', 'expired', 'cancelled'];
  let batch = await client.batches.retrieve(id);
  await expect
    .poll(async () => {
      batch = await client.batches.retrieve(id);
      return over.includes(batch.status);
    })
    .toBe(true);
  return batch;
}

async function linesIn(client: OpenAI, file: string | undefined) {
  const text = await (await client.files.content(file ?? '')).text();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as OutputLine);
}

interface OutputLine {
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly body: Record<string, unknown> } | null;
  readonly error: unknown;
}

test.each([
  ['/v1/chat/completions', chat, 'chat.completion'],
  ['/v1/completions', { model: 'any', prompt: 'A fox', max_tokens: 4, ...neverEnding }, 'text_completion'],
  ['/v1/responses', { model: 'any', input: 'Hello', max_output_tokens: 4, ...neverEnding }, 'response'],
  ['/v1/embeddings', { model: 'any-embedding', input: 'Hello' }, 'list'],
] as const)('OpenAI batch: %s, with a request that is refused', async (endpoint, body, object) => {
  const file = await inputFile(live.openai, [
    requestOf(endpoint, body, 'good'),
    requestOf(endpoint, { model: 'any', max_tokens: 'many' }, 'bad'),
    requestOf(endpoint, { ...body, stream: true, background: true }, 'stream'),
  ]);
  const batch = await live.openai.batches.create({
    input_file_id: file.id,
    endpoint,
    completion_window: '24h',
    metadata: { team: 'a' },
    output_expires_after: { anchor: 'created_at', seconds: 3600 },
  });
  expect(batch).toMatchObject({ object: 'batch', endpoint, input_file_id: file.id, metadata: { team: 'a' } });
  const done = await ended(live.openai, batch.id);
  expect(done).toMatchObject({ status: 'completed', request_counts: { total: 3, completed: 1, failed: 2 } });
  expect(done.usage?.input_tokens).toBeGreaterThan(0);
  const [good] = await linesIn(live.openai, done.output_file_id);
  expect(good).toMatchObject({ custom_id: 'good', response: { status_code: 200, body: { object } }, error: null });
  const errors = await linesIn(live.openai, done.error_file_id);
  expect(errors.map(({ custom_id, response }) => [custom_id, response?.status_code]).sort()).toEqual([
    ['bad', 400],
    ['stream', 400],
  ]);
  expect(errors[0]?.response?.body).toHaveProperty('error.message');
  const output = await live.openai.files.retrieve(done.output_file_id ?? '');
  expect(output).toMatchObject({ purpose: 'batch_output', expires_at: output.created_at + 3600 });
});

test('OpenAI batch: invalid input fails with its lines, and other faults are refused at once', async () => {
  const { openai } = live;
  const endpoint = '/v1/chat/completions';
  const file = await inputFile(openai, [requestOf(endpoint, chat, 'a'), requestOf('/v1/completions', chat, 'b')]);
  const create = (own: object) =>
    openai.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h', ...own });
  const failed = await ended(openai, (await create({})).id);
  expect(failed.errors?.data).toMatchObject([{ code: 'invalid_url', line: 2, param: 'url' }]);
  await expect(create({ endpoint: '/v1/moderations' })).rejects.toMatchObject({ status: 400, param: 'endpoint' });
  await expect(create({ input_file_id: 'file-no' })).rejects.toMatchObject({ status: 400, param: 'input_file_id' });
  await expect(openai.batches.retrieve('batch_no')).rejects.toThrow(OpenAI.NotFoundError);
  await expect(openai.batches.cancel(failed.id)).rejects.toThrow(OpenAI.BadRequestError);
});

describe('Anthropic batch', () => {
  const params = { model: 'any', max_tokens: 4, messages, ...neverEnding };
  const create = (...ids: readonly string[]) =>
    live.anthropic.messages.batches.create({ requests: ids.map((custom_id) => ({ custom_id, params })) });
  const over = async (id: string) => {
    await expect.poll(async () => (await live.anthropic.messages.batches.retrieve(id)).processing_status).toBe('ended');
    return live.anthropic.messages.batches.retrieve(id);
  };
  const resultsOf = async (id: string) => {
    const all: Anthropic.Messages.MessageBatchIndividualResponse[] = [];
    for await (const result of await live.anthropic.messages.batches.results(id)) all.push(result);
    return all;
  };

  test('has a result for each message', async () => {
    const bad = { model: 'any', max_tokens: 4, messages: 'none' } as unknown as typeof params;
    const batch = await live.anthropic.messages.batches.create({
      requests: [
        { custom_id: 'good', params },
        { custom_id: 'bad', params: bad },
      ],
    });
    expect(batch).toMatchObject({
      type: 'message_batch',
      processing_status: 'in_progress',
      request_counts: { processing: 2, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
      results_url: null,
    });
    expect(await over(batch.id)).toMatchObject({ request_counts: { processing: 0, succeeded: 1, errored: 1 } });
    const results = await resultsOf(batch.id);
    expect(results.find(({ custom_id }) => custom_id === 'good')?.result).toMatchObject({
      type: 'succeeded',
      message: { type: 'message', usage: { output_tokens: 4 } },
    });
    expect(results.find(({ custom_id }) => custom_id === 'bad')?.result).toMatchObject({
      type: 'errored',
      error: { type: 'error', error: { type: 'invalid_request_error' } },
    });
    expect(await live.anthropic.messages.batches.delete(batch.id)).toEqual({
      id: batch.id,
      type: 'message_batch_deleted',
    });
    await expect(live.anthropic.messages.batches.retrieve(batch.id)).rejects.toThrow(Anthropic.NotFoundError);
  });

  test('is refused as a whole for a custom_id that occurs twice', async () => {
    await expect(create('a', 'a')).rejects.toThrow('requests.1.custom_id');
    await expect(create('a b')).rejects.toThrow('custom_id');
    await expect(create()).rejects.toThrow('requests');
  });

  test('pages go through all', async () => {
    const batch = [await create('a'), await create('a'), await create('a')].map(({ id }) => id);
    const listed: string[] = [];
    for await (const { id } of live.anthropic.messages.batches.list({ limit: 1 })) listed.push(id);
    expect(listed).toEqual(batch.toReversed());
    for (const id of batch) await over(id);
  });
});

test('batch: a restart in the middle computes no reply twice, and a person goes first', async () => {
  const flags = ['--parallelrequests', '1'];
  const first = await startServer(flags);
  const client = openaiClient(first.base);
  const long = { ...chat, max_tokens: 200 };
  const ids = ['a', 'b', 'c', 'd'];
  const endpoint = '/v1/chat/completions';
  const { id: input_file_id } = await inputFile(
    client,
    ids.map((id) => requestOf(endpoint, long, id)),
  );
  const { id } = await client.batches.create({ input_file_id, endpoint, completion_window: '24h' });
  await expect.poll(async () => (await client.batches.retrieve(id)).request_counts?.completed).toBeGreaterThan(0);
  process.kill(first.pid, 'SIGKILL');
  await first.exited;

  const second = openaiClient((await startServer(flags)).base);
  const before = (await second.batches.retrieve(id)).status;
  expect(before).toBe('in_progress');
  // A reply of a person comes although the batch has not ended.
  expect((await second.chat.completions.create(chat)).choices).toHaveLength(1);
  const done = await ended(second, id);
  expect(done).toMatchObject({ status: 'completed', request_counts: { total: 4, completed: 4, failed: 0 } });
  const lines = await linesIn(second, done.output_file_id);
  expect(lines.map(({ custom_id }) => custom_id)).toEqual(ids);
});

test('batch: a cancelled one keeps its replies', async () => {
  const endpoint = '/v1/chat/completions';
  const requests = Array.from({ length: 50 }, (_, index) =>
    requestOf(endpoint, { ...chat, max_tokens: 100 }, `r${index}`),
  );
  const { id: input_file_id } = await inputFile(live.openai, requests);
  const { id } = await live.openai.batches.create({ input_file_id, endpoint, completion_window: '24h' });
  await expect.poll(async () => (await live.openai.batches.retrieve(id)).request_counts?.completed).toBeGreaterThan(0);
  expect((await live.openai.batches.cancel(id)).status).toBe('cancelling');
  const done = await ended(live.openai, id);
  expect(done.status).toBe('cancelled');
  const [good, bad] = [await linesIn(live.openai, done.output_file_id), await linesIn(live.openai, done.error_file_id)];
  expect(good.length + bad.length).toBe(50);
  expect(bad[0]).toMatchObject({ response: null, error: { code: 'batch_cancelled' } });
});

test('batch: the Anthropic client does not see batches of OpenAI', async () => {
  const anthropic = anthropicClient(live.server.base);
  const [batch] = (await live.openai.batches.list()).data;
  await expect(anthropic.messages.batches.retrieve(batch?.id ?? '')).rejects.toThrow(Anthropic.NotFoundError);
});
