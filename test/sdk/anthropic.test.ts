import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { neverEnding, saying } from '../live/client.ts';
import { liveServers } from '../live/server.ts';
import { askMessage, bothWays, messageText } from './ask.ts';
import { anthropicClient } from './clients.ts';
import { liveClients } from './live-clients.ts';
import {
  clock,
  greeting,
  introducing,
  introduction,
  offTopic,
  personQuestion,
  personSchema,
  weather,
  weatherQuestion,
  weatherReport,
  words,
} from './questions.ts';
import { scriptedTools, toolWays, weatherAnswer } from './tool-ways.ts';

const live = liveClients();
const startServer = liveServers();

const model = 'any';
const hello: Anthropic.MessageParam[] = [{ role: 'user', content: greeting }];
const asks = (content: string): Anthropic.MessageParam[] => [{ role: 'user', content }];
const tools = [weather, clock].map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters }));
const callsOf = ({ content }: Anthropic.Message) =>
  content.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
const promptTokens = ({ usage }: Anthropic.Message) => usage.input_tokens + (usage.cache_read_input_tokens ?? 0);

describe.each(bothWays)('Anthropic SDK: message, $way', ({ stream }) => {
  const send = (fields: Parameters<typeof askMessage>[2]) => askMessage(live.anthropic, stream, fields);

  test('is answered by the loaded model, with correct usage', async () => {
    const message = await send({ messages: hello, ...introducing });
    expect(message).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      role: 'assistant',
      model: 'koboldcpp/parley-mini',
      content: [{ type: 'text', text: introduction }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { output_tokens: 15 },
    });
    expect(promptTokens(message)).toBe(16);
  });

  test('ends at the limit', async () => {
    const message = await send({ messages: hello, max_tokens: 3, ...introducing });
    expect(message).toMatchObject({ content: [{ text: "I'm Parley" }], stop_reason: 'max_tokens' });
  });

  test('ends before a stop sequence, and names it', async () => {
    const message = await send({ messages: hello, stop_sequences: ['never this', 'small'], ...introducing });
    expect(message).toMatchObject({
      content: [{ text: "I'm Parley Mini, the " }],
      stop_reason: 'stop_sequence',
      stop_sequence: 'small',
    });
  });

  test('includes the system prompt; count_tokens equals the usage', async () => {
    for (const system of ['Be brief.', [{ type: 'text' as const, text: 'Be brief.' }]]) {
      const message = await send({ messages: hello, system });
      const counted = await live.anthropic.messages.countTokens({ model, messages: hello, system });
      expect(counted.input_tokens).toBe(promptTokens(message));
      expect(counted.input_tokens).toBeGreaterThan(16);
    }
  });

  test('continues a last assistant message', async () => {
    const begun = { role: 'assistant' as const, content: "I'm Parley" };
    const rest = introduction.slice(begun.content.length);
    const message = await send({ messages: [...hello, begun], ...saying(rest) });
    expect(messageText(message)).toBe(rest);
    const counted = await live.anthropic.messages.countTokens({ model, messages: [...hello, begun] });
    expect(promptTokens(message)).toBe(counted.input_tokens);
    expect(counted.input_tokens).toBe(16 + 3);
  });

  test('follows a JSON schema on request', async () => {
    const format = { type: 'json_schema' as const, schema: personSchema };
    const message = await send({ messages: asks(personQuestion), output_config: { format } });
    expect(JSON.parse(messageText(message))).toEqual({ name: expect.any(String), age: expect.any(Number) });
  });
});

describe.each(toolWays)('Anthropic SDK: tools $kind', (toolWay) => {
  const calling = toolWay.flags.length > 0 ? liveClients(toolWay.flags) : live;
  const script = scriptedTools(toolWay);

  test.each(bothWays)('are called, and the result leads to an answer, $way', async ({ stream }) => {
    const { anthropic } = script.live;
    const question = asks(script.ask());
    const first = await askMessage(anthropic, stream, { messages: question, tools });
    expect(first.stop_reason).toBe('tool_use');
    expect(first.content).toMatchObject([{ type: 'tool_use', name: 'get_weather', input: { city: 'Paris' } }]);
    expect(first.usage.output_tokens).toBeGreaterThan(10);
    const result = { type: 'tool_result' as const, tool_use_id: callsOf(first)[0]?.id ?? '', content: weatherReport };
    const second = await askMessage(anthropic, stream, {
      messages: [...question, { role: 'assistant', content: first.content }, { role: 'user', content: [result] }],
      tools,
    });
    expect(second.stop_reason).toBe('end_turn');
    expect(messageText(second)).toBe(weatherAnswer);
  });

  test.each(bothWays)('follow tool_choice, $way', async ({ stream }) => {
    const ask = (content: string, choice: Anthropic.ToolChoice) =>
      askMessage(calling.anthropic, stream, { messages: asks(content), tools, tool_choice: choice });
    expect(callsOf(await ask(offTopic, { type: 'any', disable_parallel_tool_use: true }))).toHaveLength(1);
    expect(
      callsOf(await ask(weatherQuestion, { type: 'tool', name: 'get_time', disable_parallel_tool_use: true })),
    ).toMatchObject([{ name: 'get_time' }]);
    expect(callsOf(await ask(weatherQuestion, { type: 'none' }))).toEqual([]);
  });
});

test('stream: events are in order', async () => {
  const types: string[] = [];
  const request = { model, messages: hello, max_tokens: 100, temperature: 0, stream: true, ...introducing } as const;
  for await (const { type } of await live.anthropic.messages.create(request)) types.push(type);
  const deltas = types.filter((type) => type === 'content_block_delta');
  expect(deltas.length).toBeGreaterThan(3);
  expect(types).toEqual([
    'message_start',
    'content_block_start',
    ...deltas,
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
});

test('stream helper: emits the text as it arrives', async () => {
  const pieces: string[] = [];
  const stream = live.anthropic.messages.stream({
    model,
    messages: hello,
    max_tokens: 100,
    temperature: 0,
    ...introducing,
  });
  stream.on('text', (piece) => pieces.push(piece));
  expect(await stream.finalText()).toBe(introduction);
  expect(pieces.length).toBeGreaterThan(3);
  expect(pieces.join('')).toBe(introduction);
});

test('Anthropic SDK: max_tokens beyond the context is accepted', async () => {
  const message = await askMessage(live.anthropic, true, { messages: hello, max_tokens: 1_000_000, ...introducing });
  expect(message).toMatchObject({ content: [{ text: introduction }], stop_reason: 'end_turn' });
});

test('Anthropic SDK: fields that coding agents send are accepted', async () => {
  const cached = { type: 'ephemeral' as const };
  const request = {
    model,
    max_tokens: 32_000,
    system: [{ type: 'text' as const, text: 'Be brief.', cache_control: cached }],
    messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: greeting, cache_control: cached }] }],
    metadata: { user_id: 'somebody' },
    thinking: { type: 'adaptive' as const },
    output_config: { effort: 'high' as const },
    context_management: { edits: [] },
    betas: ['context-management-2025-06-27'],
    ...introducing,
  };
  const message = await live.anthropic.beta.messages.stream(request).finalMessage();
  expect(message.stop_reason).toBe('end_turn');
  expect(message.content).toMatchObject([{ type: 'text', text: introduction }]);
});

test('invalid request: throws the SDK error class with a request id', async () => {
  const empty = live.anthropic.messages.create({ model, max_tokens: 5, messages: [] });
  await expect(empty).rejects.toBeInstanceOf(Anthropic.BadRequestError);
  await expect(empty).rejects.toMatchObject({
    status: 400,
    type: 'invalid_request_error',
    requestID: expect.stringMatching(/^req_/),
  });
  await expect(live.anthropic.messages.batches.retrieve('msgbatch_none')).rejects.toBeInstanceOf(
    Anthropic.NotFoundError,
  );
});

test('Anthropic SDK: --password needs the key, and --maxrequestsize refuses large bodies', async () => {
  const { base } = await startServer(['--password', 'secret', '--maxrequestsize', '1']);
  const request = { model, max_tokens: 3, messages: hello, ...neverEnding };
  await expect(anthropicClient(base, 'wrong').messages.create(request)).rejects.toBeInstanceOf(
    Anthropic.AuthenticationError,
  );
  const authorised = anthropicClient(base, 'secret');
  expect((await authorised.messages.create(request)).usage.output_tokens).toBe(3);
  const huge = authorised.messages.create({ ...request, messages: asks(words(250_000)) });
  await expect(huge).rejects.toMatchObject({ status: 413, type: 'request_too_large' });
});
