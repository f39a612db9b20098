import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { TextService } from '../../core/text-service.ts';
import { latch } from '../../http/testing/world.ts';
import { ResponseStore } from '../../store/responses.ts';
import type { DialectContext } from '../dialect.ts';
import { bindAll } from '../testing/bind.ts';
import { finishEvent, onlyPlace, startEvent } from '../testing/doubles.ts';
import { chatmlWithTools, type Scripts, said, sdkWorld } from '../testing/sdk-world.ts';
import { responseState } from './background.ts';
import { responsesEndpoints } from './routes.ts';

async function world(scripts: Scripts, text: Partial<TextService> = {}) {
  const store = new ResponseStore();
  const endpoints = (parts: DialectContext) => bindAll(responsesEndpoints(responseState(store), parts), parts);
  const { base, asked } = await sdkWorld(scripts, endpoints, { template: chatmlWithTools, text });
  return { client: new OpenAI({ baseURL: `${base}/v1`, apiKey: 'secret', maxRetries: 0 }), asked, store };
}

const weather = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'The weather of a city',
  strict: true,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const callText = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>';

test('OpenAI SDK: whole response with text and usage', async () => {
  const { client, asked } = await world([said('Hel', 'lo')]);
  const response = await client.responses.create({ model: 'any', instructions: 'Be kind.', input: 'Hi' });
  expect(response).toMatchObject({
    id: expect.stringMatching(/^resp_/),
    status: 'completed',
    model: 'mini',
    output_text: 'Hello',
    usage: { input_tokens: 7, input_tokens_details: { cached_tokens: 3 }, output_tokens: 5, total_tokens: 12 },
  });
  expect(asked[0]?.request.prompt).toBe(
    '<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
  );
});

test('OpenAI SDK: a raw stream is numbered and ends with the response', async () => {
  const { client } = await world([said('<think>', 'hm', '</think>', 'Hel', 'lo')]);
  const stream = await client.responses.create({ model: 'any', input: 'Hi', stream: true });
  const types: string[] = [];
  let number = 0;
  for await (const event of stream) {
    expect(event.sequence_number).toBe(number);
    number += 1;
    types.push(event.type);
    if (event.type === 'response.completed') expect(event.response.output).toHaveLength(2);
  }
  expect(types).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.reasoning_summary_part.added',
    'response.reasoning_summary_text.delta',
    'response.reasoning_summary_text.done',
    'response.reasoning_summary_part.done',
    'response.output_item.done',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
});

test('OpenAI SDK: stream helper assembles reasoning, text and calls', async () => {
  const { client, asked } = await world([said('<think>hm</think>', 'Let me look.\n', callText)]);
  const stream = client.responses.stream({ model: 'any', input: 'Weather?', tools: [weather] });
  const deltas: string[] = [];
  stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
  const response = await stream.finalResponse();
  expect(deltas.join('')).toBe('Let me look.');
  expect(response.status).toBe('completed');
  expect(response.output).toMatchObject([
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
    { type: 'message', status: 'completed', content: [{ text: 'Let me look.' }] },
    {
      type: 'function_call',
      call_id: 'call_1',
      name: 'get_weather',
      arguments: '{"city": "Oslo"}',
      status: 'completed',
    },
  ]);
  expect(asked[0]?.request.prompt).toContain('get_weather');
});

test('OpenAI SDK: tool loop with previous_response_id', async () => {
  const { client, asked } = await world([said(callText), said('Rain.')]);
  const first = await client.responses.create({ model: 'any', input: 'Weather?', tools: [weather] });
  const [call] = first.output;
  if (call?.type !== 'function_call') throw new Error('a call was expected');
  const second = await client.responses.create({
    model: 'any',
    previous_response_id: first.id,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: '{"sky":"rain"}' }],
    tools: [weather],
  });
  expect(second).toMatchObject({ output_text: 'Rain.', previous_response_id: first.id });
  const prompt = asked[1]?.request.prompt ?? '';
  expect(prompt).toContain('<|im_start|>user\nWeather?<|im_end|>');
  expect(prompt).toMatch(/<tool_call>\{"name": ?"get_weather".*Oslo.*<\/tool_call><\|im_end\|>\n<\|im_start\|>tool/s);
  expect(prompt).toContain('<|im_start|>tool\n{"sky":"rain"}<|im_end|>');
});

test('OpenAI SDK: tool loop without the store', async () => {
  const { client, asked } = await world([said('<think>hm</think>', callText), said('Rain.')]);
  const question = { role: 'user' as const, content: 'Weather?' };
  const stateless = { model: 'any', store: false, include: ['reasoning.encrypted_content' as const], tools: [weather] };
  const first = await client.responses.create({ ...stateless, input: [question] });
  expect(first.output[0]).toMatchObject({ type: 'reasoning', encrypted_content: expect.any(String) });
  const result = { type: 'function_call_output' as const, call_id: 'call_1', output: 'rain' };
  const output = first.output as OpenAI.Responses.ResponseInputItem[];
  const second = await client.responses.create({ ...stateless, input: [question, ...output, result] });
  expect(second.output_text).toBe('Rain.');
  expect(asked[1]?.request.prompt).toContain('<tool_call>');
  await expect(client.responses.retrieve(first.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
});

test('OpenAI SDK: structured output is parsed, whole and streamed', async () => {
  const { client, asked } = await world([said('{"city":', '"Oslo"}'), said('{"city":', '"Rome"}')]);
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const format = { type: 'json_schema' as const, name: 'place', schema, strict: true };
  const parsed = await client.responses.parse({ model: 'any', input: 'Where?', text: { format } });
  expect(parsed.output_text).toBe('{"city":"Oslo"}');
  expect(parsed.output_parsed).toEqual({ city: 'Oslo' });
  expect(parsed.text?.format).toMatchObject({ type: 'json_schema', name: 'place' });
  expect(asked[0]?.request.grammar?.gbnf).toContain('city');
  const streamed = await client.responses.stream({ model: 'any', input: 'Where?', text: { format } }).finalResponse();
  expect(streamed.output_parsed).toEqual({ city: 'Rome' });
});

test('OpenAI SDK: retrieve, replay, list input items and delete', async () => {
  const { client } = await world([said('<think>hm</think>', 'Hello')]);
  const input = [
    { role: 'developer' as const, content: 'Be kind.' },
    { role: 'user' as const, content: 'Hi' },
  ];
  const { id } = await client.responses.create({ model: 'any', input, metadata: { topic: 'greeting' } });
  const fetched = await client.responses.retrieve(id);
  expect(fetched).toMatchObject({ id, status: 'completed', metadata: { topic: 'greeting' } });
  const replayed = await client.responses.stream({ response_id: id }).finalResponse();
  expect(replayed.output).toMatchObject(fetched.output);
  const roles: string[] = [];
  for await (const item of client.responses.inputItems.list(id, { limit: 1, order: 'asc' })) {
    if (item.type === 'message') roles.push(item.role);
  }
  expect(roles).toEqual(['developer', 'user']);
  await client.responses.delete(id);
  await expect(client.responses.retrieve(id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  await expect(
    client.responses.create({ model: 'any', input: 'And?', previous_response_id: id }),
  ).rejects.toMatchObject({ status: 400, param: 'previous_response_id', code: 'previous_response_not_found' });
});

test('OpenAI SDK: max_output_tokens makes the response incomplete, whole and streamed', async () => {
  const cut = [
    startEvent(),
    { type: 'text-delta', text: 'Hel' } as const,
    finishEvent({ reason: 'length', cause: 'limit' }),
  ];
  const { client } = await world([cut, cut]);
  const expected = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output_text: 'Hel' };
  expect(await client.responses.create({ model: 'any', input: 'Hi', max_output_tokens: 1 })).toMatchObject(expected);
  expect(await client.responses.stream({ model: 'any', input: 'Hi' }).finalResponse()).toMatchObject(expected);
});

test('OpenAI SDK: an early error has a status, a late one is a failed response', async () => {
  const lost: GenerationEvent = { type: 'error', error: new AppError('engine-lost', { capability: 'text' }) };
  const full: GenerationEvent = {
    type: 'error',
    error: new AppError('context-overflow', { promptTokens: 9000, contextSize: 4096 }),
  };
  const { client } = await world([[full], [startEvent(), { type: 'text-delta', text: 'Hel' }, lost]]);
  await expect(client.responses.create({ model: 'any', input: 'Hi', stream: true })).rejects.toMatchObject({
    status: 400,
    code: 'context_length_exceeded',
  });
  const response = await client.responses.stream({ model: 'any', input: 'Hi' }).finalResponse();
  expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' }, output_text: 'Hel' });
});

test('OpenAI SDK: a busy server has error and detail', async () => {
  const busy = (): never => {
    throw new AppError('busy', { retryAfterSeconds: 1 });
  };
  const { client } = await world([], { reserve: busy });
  await expect(client.responses.create({ model: 'any', input: 'Hi' })).rejects.toMatchObject({
    status: 503,
    code: 'server_busy',
  });
});

test('OpenAI SDK: a disconnect stops the generation and stores nothing', async () => {
  const stopped = latch();
  const { client, store } = await world([], {
    reserve: ({ signal }) => ({
      async *generate() {
        yield startEvent();
        yield { type: 'text-delta', text: 'Hello' };
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        stopped.open();
        yield finishEvent({ reason: 'aborted', cause: 'aborted' });
      },
      ...onlyPlace,
      release: () => undefined,
    }),
  });
  const stream = await client.responses.create({ model: 'any', input: 'Hi', stream: true });
  for await (const event of stream) if (event.type === 'response.output_text.delta') stream.controller.abort();
  await stopped.promise;
  expect(store.size).toBe(0);
});

test('OpenAI SDK: poll and cancel a background response', async () => {
  const waiting = latch();
  const { client } = await world([], {
    reserve: ({ signal }) => ({
      async *generate() {
        yield startEvent();
        yield { type: 'text-delta', text: 'Hel' };
        waiting.open();
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        yield finishEvent({ reason: 'aborted', cause: 'aborted' });
      },
      ...onlyPlace,
      release: () => undefined,
    }),
  });
  const { id, status } = await client.responses.create({ model: 'any', input: 'Hi', background: true });
  expect(status).toBe('queued');
  await waiting.promise;
  expect((await client.responses.retrieve(id)).status).toBe('in_progress');
  const output = [{ type: 'message', status: 'incomplete', content: [{ text: 'Hel' }] }];
  expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled', output });
});

test('OpenAI SDK: input tokens are counted without generating', async () => {
  const { client, asked } = await world([]);
  const { input_tokens: tokens } = await client.responses.inputTokens.count({ model: 'any', input: 'Hi' });
  expect(tokens).toBe('<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n'.length + 1);
  expect(asked).toEqual([]);
});

test('OpenAI SDK: logprobs if requested', async () => {
  const token = { token: 5, text: 'Hi', bytes: [72, 105], logprob: -0.5 };
  const spoken: GenerationEvent = { type: 'text-delta', text: 'Hi', logprobs: [{ ...token, top: [token] }] };
  const { client, asked } = await world([[startEvent(), spoken, finishEvent()]]);
  const response = await client.responses.create({
    model: 'any',
    input: 'Hi',
    include: ['message.output_text.logprobs'],
    top_logprobs: 1,
  });
  const [message] = response.output;
  expect(message).toMatchObject({
    content: [{ logprobs: [{ token: 'Hi', logprob: -0.5, bytes: [72, 105], top_logprobs: [{ token: 'Hi' }] }] }],
  });
  expect(asked[0]?.request.logprobs).toBe(1);
});

test('OpenAI SDK: custom tool call', async () => {
  const patch = { type: 'custom' as const, name: 'apply_patch', description: 'Changes files' };
  const text = '<tool_call>{"name": "apply_patch", "arguments": {"input": "*** Begin\\n+a"}}</tool_call>';
  const { client } = await world([said(text)]);
  const response = await client.responses.stream({ model: 'any', input: 'Change it', tools: [patch] }).finalResponse();
  expect(response.output).toMatchObject([{ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin\n+a' }]);
});
