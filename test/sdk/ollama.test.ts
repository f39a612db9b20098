import type { GenerateRequest, GenerateResponse } from 'ollama';
import { describe, expect, test } from 'vitest';
import { neverEnding } from '../live/client.ts';
import { askOllama, bothWays, expectJsonObject } from './ask.ts';
import { liveClients } from './live-clients.ts';
import {
  clock,
  greeting,
  introducing,
  introduction,
  knownContinuation,
  knownTokens,
  opening,
  personQuestion,
  personSchema,
  weather,
  weatherReport,
} from './questions.ts';
import { scriptedTools, toolWays, weatherAnswer } from './tool-ways.ts';

const live = liveClients();

const model = 'parley-mini';
const name = 'koboldcpp/parley-mini:latest';
const hello = [{ role: 'user', content: greeting }];
const tools = [weather, clock].map((tool) => ({ type: 'function', function: tool }));

describe.each(bothWays)('Ollama client: chat, $way', ({ stream }) => {
  const chat = (fields: Parameters<typeof askOllama>[2]) => askOllama(live.ollama, stream, fields);

  test('is answered, with token counts and durations', async () => {
    const reply = await chat({ messages: hello, options: introducing });
    expect(reply).toMatchObject({
      model: 'any',
      message: { role: 'assistant', content: introduction },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 16,
      eval_count: 15,
    });
    expect(reply.eval_duration).toBeGreaterThan(0);
    expect(reply.total_duration).toBeGreaterThanOrEqual(reply.eval_duration);
  });

  test('honours its options', async () => {
    const cut = await chat({ messages: hello, options: { num_predict: 3, ...introducing } });
    expect(cut).toMatchObject({ message: { content: "I'm Parley" }, done_reason: 'length', eval_count: 3 });
    const stopped = await chat({ messages: hello, options: { stop: ['small'], ...introducing } });
    expect(stopped).toMatchObject({ message: { content: "I'm Parley Mini, the " }, done_reason: 'stop' });
    const generate = async (seed: number) =>
      (await chat({ messages: hello, options: { temperature: 2, seed } })).message.content;
    // The prompt is in the cache of both that are compared.
    await generate(11);
    expect(await generate(11)).toBe(await generate(11));
  });

  test('matches its format', async () => {
    const messages = [{ role: 'user', content: personQuestion }];
    const { message } = await chat({ messages, format: personSchema });
    expect(JSON.parse(message.content)).toEqual({ name: expect.any(String), age: expect.any(Number) });
    const free = await chat({ messages, format: 'json' });
    expectJsonObject(free.message.content, free.done_reason === 'stop');
  });

  test('think on or off: is accepted by a model without thinking', async () => {
    for (const think of [true, false, 'low' as const]) {
      const { message } = await chat({ messages: hello, think, options: introducing });
      expect(message.content).toBe(introduction);
      expect(message.thinking ?? '').toBe('');
    }
  });
});

describe.each(toolWays)('Ollama client: tools $kind', (toolWay) => {
  const script = scriptedTools(toolWay);

  test.each(bothWays)('are called, and the result leads to an answer, $way', async ({ stream }) => {
    const question = { role: 'user', content: script.ask() };
    const { ollama } = script.live;
    const { message, done_reason: reason } = await askOllama(ollama, stream, { messages: [question], tools });
    expect(message).toMatchObject({
      content: '',
      tool_calls: [{ function: { name: 'get_weather', arguments: { city: 'Paris' } } }],
    });
    expect(reason).toBe('stop');
    const result = { role: 'tool', tool_name: 'get_weather', content: weatherReport };
    const answer = await askOllama(ollama, stream, { messages: [question, message, result], tools });
    expect(answer.message.tool_calls ?? []).toEqual([]);
    expect(answer.message.content).toBe(weatherAnswer);
  });
});

describe.each(bothWays)('Ollama client: completion, $way', ({ stream }) => {
  const generate = async (fields: Omit<GenerateRequest, 'model' | 'stream'>): Promise<GenerateResponse> => {
    const request = { model, ...fields, options: { temperature: 0, num_predict: 40, ...fields.options } };
    if (!stream) return live.ollama.generate({ ...request, stream: false });
    let response = '';
    let last: GenerateResponse | undefined;
    for await (const part of await live.ollama.generate({ ...request, stream: true })) {
      response += part.response;
      last = part;
    }
    if (!last?.done) throw new Error('the stream ended without its last part');
    return { ...last, response };
  };

  test('answers its prompt, and context continues it', async () => {
    const first = await generate({ prompt: greeting, options: introducing });
    expect(first).toMatchObject({ response: introduction, done_reason: 'stop', prompt_eval_count: 16, eval_count: 15 });
    const second = await generate({ prompt: greeting, context: first.context });
    expect(second.prompt_eval_count).toBeGreaterThan(first.context.length);
  });

  test('raw: continues the prompt unchanged', async () => {
    const reply = await generate({ prompt: opening, raw: true, options: { num_predict: knownTokens, ...neverEnding } });
    expect(reply).toMatchObject({
      response: knownContinuation,
      done_reason: 'length',
      prompt_eval_count: 4,
    });
  });

  test('matches its format', async () => {
    const { response } = await generate({ prompt: personQuestion, format: personSchema });
    expect(JSON.parse(response ?? '')).toEqual({ name: expect.any(String), age: expect.any(Number) });
  });
});

test('model: is in tags, show and ps', async () => {
  const { models } = await live.ollama.list();
  expect(models).toMatchObject([
    { name, model: name, details: { family: 'llama', quantization_level: 'Q6_K' } },
    { name: 'all-MiniLM-L6-v2:latest' },
  ]);
  const running = await live.ollama.ps();
  expect(running.models).toMatchObject([{ name, digest: models[0]?.digest }]);
  const info = await live.ollama.show({ model });
  expect(info).toMatchObject({ details: { format: 'gguf' }, capabilities: expect.arrayContaining(['completion']) });
  expect(info.template).toContain('im_start');
  expect(JSON.stringify(info.model_info)).toContain('"llama.context_length":2048');
  // Every name is answered by the loaded model, so every name shows it.
  expect((await live.ollama.show({ model: 'another' })).modelfile).toBe(info.modelfile);
});

test('/api/version: is a version that apps accept', async () => {
  expect((await live.ollama.version()).version).toMatch(/^\d+\.\d+\.\d+$/);
});

test('keep_alive: accepts every form that apps use', async () => {
  for (const keep_alive of ['5m', 300, -1]) {
    const { message } = await askOllama(live.ollama, false, { messages: hello, keep_alive, options: introducing });
    expect(message.content).toBe(introduction);
  }
  const wrong = askOllama(live.ollama, false, { messages: hello, keep_alive: 'for ever' });
  await expect(wrong).rejects.toMatchObject({ status_code: 400, error: expect.stringContaining('keep_alive') });
});

describe('Ollama client: unloaded model', () => {
  const letGo = () => live.ollama.generate({ model, prompt: '', keep_alive: 0 });

  test('is loaded again by a call without a prompt', async () => {
    expect(await letGo()).toMatchObject({ response: '', done_reason: 'unload' });
    expect(await live.ollama.generate({ model, prompt: '' })).toMatchObject({ response: '', done_reason: 'load' });
  });

  test('is loaded again by the next request', async () => {
    await letGo();
    const { message } = await askOllama(live.ollama, false, { messages: hello, options: introducing });
    expect(message.content).toBe(introduction);
  });

  test('has the default keep_alive again once it is loaded', async () => {
    await letGo();
    await askOllama(live.ollama, false, { messages: hello });
    const worker = live.server.worker();
    await askOllama(live.ollama, false, { messages: hello });
    expect(live.server.worker()).toBe(worker);
    expect((await live.ollama.ps()).models).toHaveLength(1);
  });
});
