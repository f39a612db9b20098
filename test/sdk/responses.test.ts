import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { neverEnding } from '../live/client.ts';
import { askResponse, bothWays, expectJsonObject } from './ask.ts';
import { liveClients } from './live-clients.ts';
import {
  clock,
  greeting,
  introducing,
  introduction,
  longStory,
  offTopic,
  personQuestion,
  personSchema,
  weather,
  weatherQuestion,
  weatherReport,
} from './questions.ts';
import { scriptedTools, toolWays, weatherAnswer } from './tool-ways.ts';

const live = liveClients();

const model = 'any';
const tools = [weather, clock].map((tool) => ({ type: 'function' as const, ...tool, strict: true }));
const callsOf = ({ output }: OpenAI.Responses.Response) =>
  output.flatMap((item) => (item.type === 'function_call' ? [item] : []));

describe.each(bothWays)('OpenAI SDK: response, $way', ({ stream }) => {
  const respond = (fields: Parameters<typeof askResponse>[2]) => askResponse(live.openai, stream, fields);

  test('has one message, with correct usage', async () => {
    const response = await respond({ input: greeting, ...introducing });
    expect(response).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      status: 'completed',
      model: 'koboldcpp/parley-mini',
      output: [{ type: 'message', role: 'assistant', status: 'completed' }],
      output_text: introduction,
      usage: { input_tokens: 16, output_tokens: 15, total_tokens: 31 },
    });
  });

  test('is incomplete at the limit', async () => {
    const response = await respond({ input: greeting, max_output_tokens: 3, ...introducing });
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output_text: "I'm Parley",
    });
  });

  test('follows a JSON schema on request', async () => {
    const format = { type: 'json_schema' as const, name: 'person', strict: true, schema: personSchema };
    const { output_text: text } = await respond({ input: personQuestion, text: { format } });
    expect(JSON.parse(text)).toEqual({ name: expect.any(String), age: expect.any(Number) });
  });

  test('json_object: is a JSON object', async () => {
    const request = { input: personQuestion, text: { format: { type: 'json_object' as const } } };
    const { output_text: text, status } = await respond(request);
    expectJsonObject(text, status === 'completed');
  });

  test('previous_response_id: continues the conversation', async () => {
    const first = await respond({ input: 'What is the capital of France?' });
    const next = await respond({ input: greeting, previous_response_id: first.id, ...introducing });
    expect(next.previous_response_id).toBe(first.id);
    const alone = await respond({
      input: [
        { role: 'user', content: 'What is the capital of France?' },
        { role: 'assistant', content: first.output_text },
        { role: 'user', content: greeting },
      ],
      ...introducing,
    });
    expect(next.output_text).toBe(alone.output_text);
    expect(next.usage?.input_tokens).toBe(alone.usage?.input_tokens);
  });

  test('can be retrieved with its input items until it is deleted', async () => {
    const stored = await respond({ input: greeting, metadata: { topic: 'names' }, ...introducing });
    const fetched = await live.openai.responses.retrieve(stored.id);
    expect(fetched).toMatchObject({
      id: stored.id,
      metadata: { topic: 'names' },
      output: [{ id: stored.output[0]?.id, status: 'completed' }],
      output_text: introduction,
    });
    const replayed = await live.openai.responses.stream({ response_id: stored.id }).finalResponse();
    expect(replayed.output_text).toBe(introduction);
    const items: OpenAI.Responses.ResponseItem[] = [];
    for await (const item of live.openai.responses.inputItems.list(stored.id)) items.push(item);
    expect(items).toMatchObject([{ type: 'message', role: 'user', content: [{ type: 'input_text', text: greeting }] }]);
    await live.openai.responses.delete(stored.id);
    await expect(live.openai.responses.retrieve(stored.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(respond({ input: 'And?', previous_response_id: stored.id })).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
    });
  });

  test('store false: is not stored', async () => {
    const { id } = await respond({ input: greeting, store: false });
    await expect(live.openai.responses.retrieve(id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });
});

describe.each(toolWays)('OpenAI SDK: tools of Responses $kind', (toolWay) => {
  const calling = toolWay.flags.length > 0 ? liveClients(toolWay.flags) : live;
  const script = scriptedTools(toolWay);

  test.each(bothWays)('are called, and the result alone leads to an answer, $way', async ({ stream }) => {
    const { openai } = script.live;
    const first = await askResponse(openai, stream, { input: script.ask(), tools });
    const [call] = callsOf(first);
    expect(first.output).toMatchObject([{ type: 'function_call', name: 'get_weather', status: 'completed' }]);
    expect(JSON.parse(call?.arguments ?? '')).toEqual({ city: 'Paris' });
    expect(first.usage?.output_tokens).toBeGreaterThan(10);
    const second = await askResponse(openai, stream, {
      input: [{ type: 'function_call_output', call_id: call?.call_id ?? '', output: weatherReport }],
      previous_response_id: first.id,
      tools,
    });
    expect(callsOf(second)).toEqual([]);
    expect(second.output_text).toBe(weatherAnswer);
  });

  test.each(bothWays)('follow tool_choice, $way', async ({ stream }) => {
    const ask = (input: string, choice: OpenAI.Responses.ResponseCreateParams['tool_choice'] & {}) =>
      askResponse(calling.openai, stream, { input, tools, tool_choice: choice, parallel_tool_calls: false });
    expect(callsOf(await ask(offTopic, 'required'))).toHaveLength(1);
    expect(callsOf(await ask(weatherQuestion, { type: 'function', name: 'get_time' }))).toMatchObject([
      { name: 'get_time' },
    ]);
    expect(callsOf(await ask(weatherQuestion, 'none'))).toEqual([]);
  });
});

test('stream: events are in order, with consecutive sequence numbers', async () => {
  const types: string[] = [];
  let text = '';
  let ended: OpenAI.Responses.Response | undefined;
  const stream = await live.openai.responses.create({
    model,
    input: greeting,
    temperature: 0,
    stream: true,
    ...introducing,
  });
  for await (const event of stream) {
    expect(event.sequence_number).toBe(types.length);
    types.push(event.type);
    if (event.type === 'response.output_text.delta') text += event.delta;
    if (event.type === 'response.completed') ended = event.response;
  }
  const deltas = types.filter((type) => type === 'response.output_text.delta');
  expect(deltas.length).toBeGreaterThan(3);
  expect(types).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    ...deltas,
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ]);
  expect(text).toBe(introduction);
  expect(ended?.usage).toMatchObject({ input_tokens: 16, output_tokens: 15 });
});

test('stream: events of a tool call are in order', async () => {
  const stream = await live.openai.responses.create({
    model,
    input: weatherQuestion,
    temperature: 0,
    tools,
    tool_choice: 'required',
    parallel_tool_calls: false,
    stream: true,
  });
  const types = new Set<string>();
  for await (const { type } of stream) types.add(type);
  expect([...types]).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.function_call_arguments.delta',
    'response.function_call_arguments.done',
    'response.output_item.done',
    'response.completed',
  ]);
});

test('background response: completes without a client, and can be cancelled', async () => {
  const { id, status } = await live.openai.responses.create({
    model,
    input: greeting,
    temperature: 0,
    background: true,
    ...introducing,
  });
  expect(['queued', 'in_progress']).toContain(status);
  // A replay of what is not finished waits for its end.
  const finished = await live.openai.responses.stream({ response_id: id }).finalResponse();
  expect(finished).toMatchObject({ id, status: 'completed', output_text: introduction });
  const long = await live.openai.responses.create({ model, input: longStory, background: true, ...neverEnding });
  expect(await live.openai.responses.cancel(long.id)).toMatchObject({ id: long.id, status: 'cancelled' });
});

test('input_tokens: equals the usage of the request', async () => {
  const counted = await live.openai.responses.inputTokens.count({ model, input: greeting, instructions: 'Be kind.' });
  const { usage } = await askResponse(live.openai, false, { input: greeting, instructions: 'Be kind.' });
  expect(counted.input_tokens).toBe(usage?.input_tokens);
});
