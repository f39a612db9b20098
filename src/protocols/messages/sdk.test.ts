import Anthropic from '@anthropic-ai/sdk';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';
import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { latch } from '../../http/testing/world.ts';
import { bindAll } from '../testing/bind.ts';
import { finishEvent, onlyPlace } from '../testing/doubles.ts';
import { begun, chatmlWithTools, type Scripts, type SdkOptions, said, sdkWorld } from '../testing/sdk-world.ts';
import { messagesEndpoints } from './routes.ts';

async function world(scripts: Scripts, options: SdkOptions = {}) {
  const { base, asked } = await sdkWorld(scripts, (parts) => bindAll(messagesEndpoints(parts), parts), {
    template: chatmlWithTools,
    ...options,
  });
  return { client: new Anthropic({ baseURL: base, apiKey: 'secret', maxRetries: 0 }), asked };
}

const hello = { model: 'any', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hi' }] };

const weather = {
  name: 'get_weather',
  description: 'The weather of a city',
  input_schema: {
    type: 'object' as const,
    properties: { city: { type: 'string' as const } },
    required: ['city' as const],
  },
};

test('Anthropic SDK: whole message with usage and request id', async () => {
  const { client, asked } = await world(said('Hel', 'lo'));
  const message = await client.messages.create({ ...hello, system: 'Be brief.' });
  expect(message).toMatchObject({
    type: 'message',
    role: 'assistant',
    model: 'mini',
    content: [{ type: 'text', text: 'Hello' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 4, cache_read_input_tokens: 3, output_tokens: 5 },
  });
  expect(message._request_id).toMatch(/^req_/);
  expect(asked[0]?.request.prompt).toBe(
    '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
  );
});

test('Anthropic SDK: stream: true yields the events in order', async () => {
  const { client } = await world(said('Hel', 'lo'));
  const types: string[] = [];
  for await (const event of await client.messages.create({ ...hello, stream: true })) types.push(event.type);
  expect(types).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
});

test('Anthropic SDK: stream helper assembles thinking and text', async () => {
  const { client, asked } = await world(said('<think>', 'two and two', '</think>', 'Four.'));
  const stream = client.messages.stream({
    ...hello,
    max_tokens: 4000,
    thinking: { type: 'enabled', budget_tokens: 1024 },
  });
  const texts: string[] = [];
  stream.on('text', (piece) => texts.push(piece));
  const message = await stream.finalMessage();
  expect(message.content).toEqual([
    { type: 'thinking', thinking: 'two and two', signature: '' },
    { type: 'text', text: 'Four.' },
  ]);
  expect(message.usage).toMatchObject({ output_tokens: 5, output_tokens_details: { thinking_tokens: 1 } });
  expect(texts.join('')).toBe('Four.');
  expect(asked[0]?.request.reasoning).toEqual({ type: 'tokens', tokens: 1024 });
});

const called = [
  'I look. ',
  '<tool_call>\n{"name": "get_weather", ',
  '"arguments": {"city": "Paris"}}\n',
  '</tool_call>',
];

test('Anthropic SDK: tool call and its result', async () => {
  const { client, asked } = await world(said(...called));
  const ask = { ...hello, tools: [weather] };
  const streamed = await client.messages.stream(ask).finalMessage();
  const whole = await client.messages.create(ask);
  for (const message of [streamed, whole]) {
    expect(message.stop_reason).toBe('tool_use');
    expect(message.content.at(-1)).toMatchObject({ type: 'tool_use', name: 'get_weather', input: { city: 'Paris' } });
  }
  const call = whole.content.at(-1);
  if (call?.type !== 'tool_use') throw new Error('no call');
  await client.messages.create({
    ...ask,
    messages: [
      ...ask.messages,
      { role: 'assistant', content: whole.content },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: call.id, content: [{ type: 'text', text: '21 °C' }] }],
      },
    ],
  });
  expect(asked[2]?.request.prompt).toContain('"city": "Paris"');
  expect(asked[2]?.request.prompt).toContain('<|im_start|>tool\n21 °C<|im_end|>');
});

test('Anthropic SDK: forced call of an unknown tool is a bad request', async () => {
  const { client } = await world([]);
  const ask = client.messages.create({ ...hello, tools: [weather], tool_choice: { type: 'tool', name: 'other' } });
  await expect(ask).rejects.toThrow(Anthropic.BadRequestError);
});

test('Anthropic SDK: stop_sequence is reported', async () => {
  const { client } = await world([...begun('One'), finishEvent({ cause: 'stop-text', stopText: 'END' })]);
  const message = await client.messages.create({ ...hello, stop_sequences: ['END'] });
  expect(message).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
});

test('Anthropic SDK: prefill is continued', async () => {
  const { client, asked } = await world(said(' 4.'));
  await client.messages.create({ ...hello, messages: [...hello.messages, { role: 'assistant', content: '2 + 2 =' }] });
  expect(asked[0]?.request.prompt.endsWith('<|im_start|>assistant\n2 + 2 =')).toBe(true);
});

test('Anthropic SDK: structured output follows its schema and is parsed', async () => {
  const { client, asked } = await world(said('{"city":', '"Paris"}'));
  const format = jsonSchemaOutputFormat({ ...weather.input_schema, additionalProperties: false });
  const message = await client.messages.parse({ ...hello, output_config: { format } });
  expect(message.parsed_output).toEqual({ city: 'Paris' });
  expect(asked[0]?.request.grammar?.gbnf).toContain('city');
});

test('Anthropic SDK: count_tokens counts the rendered prompt', async () => {
  const { client } = await world([]);
  const { input_tokens } = await client.messages.countTokens({ model: 'any', messages: hello.messages });
  expect(input_tokens).toBe(1 + '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n'.length);
});

test('Anthropic SDK: beta client', async () => {
  const { client } = await world(said('Hello'));
  const message = await client.beta.messages.create({ ...hello, betas: ['context-management-2025-06-27'] });
  expect(message.content).toMatchObject([{ type: 'text', text: 'Hello' }]);
});

test('Anthropic SDK: abort in mid-stream aborts the generation', async () => {
  const ended = latch();
  async function* endless(): AsyncGenerator<GenerationEvent> {
    try {
      yield* begun('Hello');
      await new Promise(() => undefined);
    } finally {
      ended.open();
    }
  }
  const signals: AbortSignal[] = [];
  const { client } = await world([], {
    text: {
      reserve: ({ signal }) => {
        signals.push(signal);
        signal.addEventListener('abort', () => ended.open());
        return {
          generate: () => endless(),
          ...onlyPlace,
        };
      },
    },
  });
  const stream = client.messages.stream(hello);
  stream.on('text', () => stream.abort());
  await expect(stream.finalMessage()).rejects.toThrow(Anthropic.APIUserAbortError);
  await ended.promise;
  expect(signals[0]?.aborted).toBe(true);
});

test('Anthropic SDK: throws the error of a stream', async () => {
  const error = new AppError('engine-lost', { capability: 'text' });
  const { client } = await world([...begun('Hello'), { type: 'error', error }]);
  await expect(client.messages.stream(hello).finalMessage()).rejects.toThrow('it is being started again');
});

test.each([
  [
    'a prompt that does not fit',
    new AppError('context-overflow', { promptTokens: 9, contextSize: 4 }),
    Anthropic.BadRequestError,
    'prompt is too long: 9 tokens > 4 maximum',
  ],
  [
    'a missing model',
    new AppError('model-missing', { capability: 'text', flag: '--model' }),
    Anthropic.InternalServerError,
    'No text model is loaded',
  ],
])('Anthropic SDK: error class of %s, streamed and whole', async (_, error, kind, words) => {
  const { client } = await world([{ type: 'error', error }]);
  for (const stream of [true, false]) {
    const failure = await client.messages.create({ ...hello, stream }).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(kind);
    expect(failure).toMatchObject({
      message: expect.stringContaining(words),
      requestID: expect.stringMatching(/^req_/),
    });
  }
});

test('Anthropic SDK: error classes of a full queue and a wrong key', async () => {
  const busy = await world([], {
    text: {
      reserve: () => {
        throw new AppError('busy', { retryAfterSeconds: 1 });
      },
    },
  });
  await expect(busy.client.messages.create(hello)).rejects.toMatchObject({ status: 503, type: 'overloaded_error' });
  const locked = await world([], { server: { guard: { password: 'another' } } });
  await expect(locked.client.messages.create(hello)).rejects.toThrow(Anthropic.AuthenticationError);
  const open = await world(said('Hello'), { server: { guard: { password: 'secret' } } });
  expect((await open.client.messages.create(hello)).stop_reason).toBe('end_turn');
});

test('Anthropic SDK: a stream aborted before its start is an empty message', async () => {
  const { client } = await world([finishEvent({ reason: 'aborted', cause: 'aborted' })]);
  const message = await client.messages.stream(hello).finalMessage();
  expect(message).toMatchObject({ content: [{ type: 'text', text: '' }], stop_reason: 'max_tokens' });
});

test('Anthropic SDK: an empty reply has content, streamed and whole', async () => {
  const silence = [...begun(), finishEvent()];
  const { client } = await world([silence, silence]);
  const streamed = await client.messages.stream(hello).finalMessage();
  const whole = await client.messages.create(hello);
  expect([streamed.content, whole.content]).toEqual([[{ type: 'text', text: '' }], [{ type: 'text', text: '' }]]);
});
