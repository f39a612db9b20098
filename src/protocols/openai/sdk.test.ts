import OpenAI, {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
} from 'openai';

import { expect, test } from 'vitest';
import { turns } from '../../chat/adapters/adapter.ts';
import { AppError } from '../../core/errors.ts';
import { latch } from '../../http/testing/world.ts';
import type { DialectContext } from '../dialect.ts';
import { bindAll } from '../testing/bind.ts';
import { finishEvent, startEvent } from '../testing/doubles.ts';
import { type Scripts, type SdkOptions, said, sdkWorld } from '../testing/sdk-world.ts';
import { openaiEndpoints } from './routes.ts';

const { tags } = turns(['<system>', '</system>'], ['<user>', '</user>'], ['<assistant>', '</assistant>']);

async function world(scripts: Scripts, options: SdkOptions = {}) {
  const endpoints = (parts: DialectContext) =>
    bindAll(openaiEndpoints(parts), {
      ...parts,
      modelName: () => 'koboldcpp/mini',
      replacePlaceholders: (texts) => texts,
    });
  const { base, asked } = await sdkWorld(scripts, endpoints, { tags, ...options });
  return { client: new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 }), asked };
}

const model = 'gpt-3.5-turbo';
const messages = [{ role: 'user' as const, content: 'Hi' }];

test('OpenAI SDK: whole chat', async () => {
  const { client, asked } = await world(said('<think>Hm.</think>', 'Hello', ' there'));
  const reply = await client.chat.completions.create({ model, messages, temperature: 0 });
  expect(reply.model).toBe('koboldcpp/mini');
  expect(reply.choices[0]).toMatchObject({
    message: { role: 'assistant', content: 'Hello there', reasoning_content: 'Hm.' },
    finish_reason: 'stop',
  });
  expect(reply.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 });
  expect(asked[0]?.request).toMatchObject({ prompt: '<user>Hi</user><assistant>', sampling: { temperature: 0 } });
});

test('OpenAI SDK: streamed chat', async () => {
  const { client } = await world(said('Hel', 'lo'));
  const options = { model, messages, stream: true, stream_options: { include_usage: true } } as const;
  const pieces: string[] = [];
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of await client.chat.completions.create(options)) {
    pieces.push(chunk.choices[0]?.delta.content ?? '');
    usage = chunk.usage ?? usage;
  }
  expect(pieces.join('|')).toBe('|Hel|lo||');
  expect(usage).toMatchObject({ total_tokens: 12, prompt_tokens_details: { cached_tokens: 3 } });
});

test('OpenAI SDK: stream helper assembles the reply', async () => {
  const { client } = await world(said('Hel', 'lo'));
  const final = await client.chat.completions.stream({ model, messages }).finalChatCompletion();
  expect(final.choices[0]).toMatchObject({ message: { content: 'Hello' }, finish_reason: 'stop' });
});

test('OpenAI SDK: several replies with n', async () => {
  const { client } = await world([said('one'), said('two')]);
  const { choices } = await client.chat.completions.create({ model, messages, n: 2 });
  expect(choices.map(({ index, message }) => [index, message.content])).toEqual([
    [0, 'one'],
    [1, 'two'],
  ]);
});

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    strict: true,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
} as const;
const written = '[{"type":"function","function":{"name":"get_weather","arguments":{"city":"Paris"}}}]';

test('OpenAI SDK: forced tool call', async () => {
  const { client, asked } = await world(said(written));
  const reply = await client.chat.completions.create({
    model,
    messages,
    tools: [weather],
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
  });
  expect(reply.choices[0]).toMatchObject({
    message: {
      content: null,
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
      ],
    },
    finish_reason: 'tool_calls',
  });
  expect(asked[0]?.request.grammar?.gbnf).toContain('get_weather');
});

test('OpenAI SDK: strict tool call with the stream helper', async () => {
  const decision = '{"reasoning":"x","final_decision":"yes","tool_name":"get_weather"}';
  const { client } = await world([said(decision), said(written)]);
  const final = await client.chat.completions.stream({ model, messages, tools: [weather] }).finalChatCompletion();
  expect(final.choices[0]).toMatchObject({
    message: { tool_calls: [{ id: 'call_1', function: { parsed_arguments: { city: 'Paris' } } }] },
    finish_reason: 'tool_calls',
  });
});

test('OpenAI SDK: tool results are sent to the model', async () => {
  const { client, asked } = await world(said('Sunny.'));
  const called = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } } as const;
  await client.chat.completions.create({
    model,
    messages: [
      ...messages,
      { role: 'assistant', content: null, tool_calls: [called] },
      { role: 'tool', tool_call_id: 'call_1', content: '25 degrees' },
    ],
  });
  expect(asked[0]?.request.prompt).toContain('25 degrees');
});

test('OpenAI SDK: structured output follows its schema and is parsed', async () => {
  const { client, asked } = await world(said('{"a":"x"}'));
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  };
  const reply = await client.chat.completions.parse({
    model,
    messages,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
  });
  expect(JSON.parse(reply.choices[0]?.message.content ?? '')).toEqual({ a: 'x' });
  expect(asked[0]?.request.grammar?.gbnf).toContain('root ::=');
});

test('OpenAI SDK: abort in mid-stream aborts the generation', async () => {
  const stopped = latch();
  const { client, asked } = await world(async function* () {
    yield startEvent();
    yield { type: 'text-delta', text: 'Hel' } as const;
    const signal = asked.at(-1)?.requestContext.signal;
    await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
    stopped.open();
    yield finishEvent({ reason: 'aborted', cause: 'aborted' });
  });
  const stream = await client.chat.completions.create({ model, messages, stream: true });
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content === 'Hel') stream.controller.abort();
  }
  await stopped.promise;
  expect(asked[0]?.requestContext.signal.aborted).toBe(true);
});

test('OpenAI SDK: abort of a whole reply aborts the generation', async () => {
  const begun = latch();
  const stopped = latch();
  const { client, asked } = await world(async function* () {
    yield startEvent();
    begun.open();
    const signal = asked.at(-1)?.requestContext.signal;
    await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
    stopped.open();
    yield finishEvent({ reason: 'aborted', cause: 'aborted' });
  });
  const leaving = new AbortController();
  const reply = client.chat.completions.create({ model, messages }, { signal: leaving.signal });
  void begun.promise.then(() => leaving.abort());
  await expect(reply).rejects.toBeInstanceOf(APIUserAbortError);
  await stopped.promise;
});

test('OpenAI SDK: errors have class, status, param and code', async () => {
  const { client } = await world(said('x'));
  const wrong = client.chat.completions.create({ model, messages, n: 0 });
  await expect(wrong).rejects.toBeInstanceOf(BadRequestError);
  await expect(wrong).rejects.toMatchObject({ status: 400, param: 'n', type: 'invalid_request_error' });
  const image = [{ type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AAAA' } }];
  await expect(
    client.chat.completions.create({ model, messages: [{ role: 'user', content: image }] }),
  ).rejects.toMatchObject({ status: 400, code: 'unsupported_parameter' });
  await expect(client.models.retrieve('other')).rejects.toBeInstanceOf(NotFoundError);
  await expect(client.files.list()).rejects.toBeInstanceOf(NotFoundError);
  await expect(client.models.delete('mini')).rejects.toMatchObject({ status: 405 });
});

test.each([true, false])('OpenAI SDK: full context has its error code (stream: %s)', async (stream) => {
  const error = new AppError('context-overflow', { promptTokens: 9000, contextSize: 4096 });
  const { client } = await world([{ type: 'error', error }]);
  await expect(client.chat.completions.create({ model, messages, stream })).rejects.toMatchObject({
    status: 400,
    code: 'context_length_exceeded',
    param: 'messages',
    message: expect.stringContaining('maximum context length is 4096 tokens'),
  });
});

test('OpenAI SDK: wrong key, full queue and missing model', async () => {
  const locked = await world(said('x'), { server: { guard: { password: 'secret', machineName: 'here' } } });
  await expect(locked.client.chat.completions.create({ model, messages })).rejects.toBeInstanceOf(AuthenticationError);
  expect((await locked.client.models.list()).data).toHaveLength(1);

  const reserve = () => {
    throw new AppError('busy', { retryAfterSeconds: 1 });
  };
  const full = await world(said('x'), { text: { reserve, generate: reserve } });
  await expect(full.client.completions.create({ model, prompt: 'x' })).rejects.toBeInstanceOf(InternalServerError);
  await expect(full.client.chat.completions.create({ model, messages })).rejects.toMatchObject({
    status: 503,
    code: 'server_busy',
    message: '503 Server is busy; please try again later.',
  });

  const error = new AppError('model-missing', { capability: 'text', flag: '--model FILE' });
  const empty = await world([{ type: 'error', error }]);
  // By default the client retries twice; the reply tells it not to.
  const patient = empty.client.withOptions({ maxRetries: 2 });
  await expect(patient.chat.completions.create({ model, messages })).rejects.toMatchObject({
    status: 503,
    code: 'model_not_loaded',
  });
  expect(empty.asked).toHaveLength(1);
});

test('OpenAI SDK: throws on a failure in mid-stream', async () => {
  const error = new AppError('engine-lost', { capability: 'text' });
  const { client } = await world([startEvent(), { type: 'text-delta', text: 'Hel' }, { type: 'error', error }]);
  const read = async () => {
    for await (const _ of await client.chat.completions.create({ model, messages, stream: true }));
  };
  await expect(read()).rejects.toBeInstanceOf(APIError);
});

test('OpenAI SDK: completions, whole and streamed', async () => {
  const { client, asked } = await world(said(' upon', ' a time'));
  const whole = await client.completions.create({ model, prompt: 'Once', max_tokens: 8, echo: true });
  expect(whole.choices[0]).toMatchObject({ text: 'Once upon a time', finish_reason: 'stop' });
  expect(asked[0]?.request).toMatchObject({ prompt: 'Once', maxTokens: 8 });
  let text = '';
  for await (const chunk of await client.completions.create({ model, prompt: 'Once', stream: true })) {
    text += chunk.choices[0]?.text ?? '';
  }
  expect(text).toBe(' upon a time');
});

test('OpenAI SDK: list of models and one model', async () => {
  const { client } = await world([]);
  const listed: string[] = [];
  for await (const each of client.models.list()) listed.push(each.id);
  expect(listed).toEqual(['koboldcpp/mini']);
  expect(await client.models.retrieve('koboldcpp/mini')).toMatchObject({ id: 'koboldcpp/mini', object: 'model' });
});
