import { beforeAll, describe, expect, test } from 'vitest';
import { anthropicClient, ollamaClient, openaiClient } from '../sdk/clients.ts';
import {
  greeting,
  introducing,
  introduction,
  knownContinuation,
  knownTokens,
  longStory,
  opening,
  parisOnly,
  personQuestion,
  personSchema,
  weather,
  weatherQuestion,
  weatherReport,
} from '../sdk/questions.ts';
import { nativeClient, neverEnding, openRequest, saying } from './client.ts';
import { embeddedModel, type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();

/** Two that have the model, and one in front of them that has none. */
let behind: readonly LiveServer[];
let front: LiveServer;

beforeAll(async () => {
  const flags = ['--contextsize', '2048', '--parallelrequests', '6', '--batchall', '--jinjatools'];
  behind = await Promise.all([startServer(flags), startServer(flags)]);
  const addresses = behind.map(({ port }) => `http://127.0.0.1:${port}`);
  const others = ['--remote', `${addresses[1]},for=embeddings`, `${addresses[1]},for=images`];
  front = await startServer(['--remote', `${addresses[0]}/v1`, '--remote', `${addresses[1]},parallel=16`, ...others]);
});

const hello = [{ role: 'user' as const, content: greeting }];

async function textOf(reply: AsyncIterable<{ choices: { delta: { content?: string | null } }[] }>): Promise<string> {
  let text = '';
  for await (const chunk of reply) text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

describe('--remote', () => {
  test('loads no local model, and lists the remote one in every dialect', async () => {
    expect(front.worker()).toBeUndefined();
    const client = nativeClient(front.base);
    expect((await client.get('/api/v1/model')).json()).toEqual({ result: 'koboldcpp/parley-mini' });
    expect((await client.get('/api/extra/true_max_context_length')).json()).toEqual({ value: 2048 });
    const { data } = await openaiClient(front.base).models.list();
    expect(data[0]).toMatchObject({ id: 'koboldcpp/parley-mini', max_model_len: 2048, status: { value: 'loaded' } });
    const { models } = await ollamaClient(front.base).list();
    expect(models[0]?.name).toBe('koboldcpp/parley-mini:latest');
    expect((await client.get('/health')).status).toBe(200);
  });

  test('OpenAI client: whole and streamed, with logprobs', async () => {
    const client = openaiClient(front.base);
    const request = { model: 'any', messages: hello, temperature: 0, logprobs: true, top_logprobs: 2, ...introducing };
    const whole = await client.chat.completions.create(request);
    expect(whole.choices[0]).toMatchObject({ message: { content: introduction }, finish_reason: 'stop' });
    expect(whole.usage).toMatchObject({ prompt_tokens: 16, completion_tokens: 15 });
    const figures = whole.choices[0]?.logprobs?.content ?? [];
    expect(figures.map(({ token }) => token).join('')).toBe(introduction);
    expect(figures[0]?.top_logprobs).toMatchObject([{ token: figures[0]?.token }]);
    expect(await textOf(await client.chat.completions.create({ ...request, stream: true }))).toBe(introduction);
    const plain = { model: 'any', prompt: opening, max_tokens: knownTokens, temperature: 0, ...neverEnding };
    const direct = await openaiClient(behind[0]?.base ?? '').completions.create(plain);
    const remote = await client.completions.create(plain);
    expect([remote.choices[0]?.text, direct.choices[0]?.text]).toEqual([knownContinuation, knownContinuation]);
  });

  test('JSON schema, tool calls and tool results', async () => {
    const client = openaiClient(front.base);
    const schema = { type: 'json_schema' as const, json_schema: { name: 'person', schema: personSchema } };
    const person = await client.chat.completions.create({
      model: 'any',
      messages: [{ role: 'user', content: personQuestion }],
      response_format: schema,
      temperature: 0,
    });
    expect(JSON.parse(person.choices[0]?.message.content ?? '')).toMatchObject({ name: expect.any(String) });

    const tools = [{ type: 'function' as const, function: parisOnly }];
    const question = { role: 'user' as const, content: weatherQuestion };
    const stream = client.chat.completions.stream({
      model: 'any',
      messages: [question],
      tools,
      tool_choice: { type: 'function', function: { name: parisOnly.name } },
      temperature: 0,
    });
    const called = await stream.finalMessage();
    const call = called.tool_calls?.[0];
    expect(call).toMatchObject({ function: { name: 'get_weather', arguments: expect.stringContaining('Paris') } });
    const result = { role: 'tool' as const, tool_call_id: call?.id ?? '', content: weatherReport };
    const messages = [question, called, result];
    const toolReply = { tool_choice: 'none' as const, ...saying('It is 21 degrees.') };
    const answer = await client.chat.completions.create({
      model: 'any',
      messages,
      tools,
      temperature: 0,
      ...toolReply,
    });
    expect(answer.choices[0]?.message.content).toBe('It is 21 degrees.');
  });

  test('Anthropic client: with the stop sequence', async () => {
    const client = anthropicClient(front.base);
    const plain = { model: 'any', max_tokens: 100, temperature: 0, messages: hello };
    const request = { ...plain, ...introducing };
    const streamed = await client.messages.stream(request).finalMessage();
    expect(streamed).toMatchObject({ content: [{ type: 'text', text: introduction }], stop_reason: 'end_turn' });
    expect(streamed.usage.output_tokens).toBe(15);
    const stopped = await client.messages.create({ ...request, stop_sequences: ['small'] });
    expect(stopped).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'small' });
    expect((await client.messages.countTokens({ model: 'any', messages: hello })).input_tokens).toBe(16);
    const tools = [{ name: weather.name, description: weather.description, input_schema: weather.parameters }];
    const messages = [{ role: 'user' as const, content: weatherQuestion }];
    const tool_choice = { type: 'tool' as const, name: weather.name };
    const called = await client.messages.create({ ...plain, messages, tools, tool_choice });
    expect(called.content).toContainEqual(expect.objectContaining({ type: 'tool_use', name: 'get_weather' }));
  });

  test('Ollama client and Responses API', async () => {
    const ollama = ollamaClient(front.base);
    const reply = await ollama.chat({ model: 'any', messages: hello, options: { temperature: 0, ...introducing } });
    expect(reply).toMatchObject({ message: { content: introduction }, prompt_eval_count: 16, eval_count: 15 });
    const pieces: string[] = [];
    for await (const { response } of await ollama.generate({
      model: 'any',
      prompt: greeting,
      stream: true,
      options: introducing,
    })) {
      pieces.push(response ?? '');
    }
    expect(pieces.join('')).toBe(introduction);
    const response = await openaiClient(front.base).responses.create({
      model: 'any',
      input: greeting,
      temperature: 0,
      ...introducing,
    });
    expect(response.output_text).toBe(introduction);
  });

  test('token counting uses the backend', async () => {
    const client = nativeClient(front.base);
    const { value, ids } = (await client.post('/api/extra/tokencount', { prompt: 'Hello there' })).json() as {
      value: number;
      ids: number[];
    };
    expect(ids).toHaveLength(value);
    expect((await client.post('/api/extra/detokenize', { ids })).json()).toMatchObject({ result: 'Hello there' });
  });

  test('embeddings and images come from the backend', async () => {
    const input = ['Hello', 'Good bye'];
    const [here, there] = await Promise.all(
      [front, behind[1] as LiveServer].map(({ base }) => openaiClient(base).embeddings.create({ model: 'any', input })),
    );
    expect(here?.data.map(({ embedding }) => embedding)).toEqual(there?.data.map(({ embedding }) => embedding));
    expect(here?.usage.prompt_tokens).toBe(there?.usage.prompt_tokens);
    const request = { prompt: 'a red house', size: '64x64', steps: 1, seed: 5 };
    const generate = (base: string) => nativeClient(base).post('/v1/images/generations', request);
    const [mine, theirs] = await Promise.all([front, behind[1] as LiveServer].map(({ base }) => generate(base)));
    expect(mine?.status, mine?.text).toBe(200);
    expect(theirs?.status).toBe(200);
    expect(front.worker('image') ?? front.worker('embedding')).toBeUndefined();
  });

  test('with a local model: a request selects by name', async () => {
    const flags = [
      '--model',
      embeddedModel,
      '--contextsize',
      '512',
      '--remote',
      `${behind[0]?.base},model=org/far-away`,
    ];
    const both = await startServer(flags);
    const client = nativeClient(both.base);
    const { data } = await openaiClient(both.base).models.list();
    expect(data.map(({ id }) => id).slice(0, 2)).toEqual(['koboldcpp/parley-mini', 'koboldcpp/far-away']);
    const request = { messages: hello, temperature: 0, ...introducing };
    for (const model of ['far-away', 'org/far-away', 'parley-mini']) {
      const reply = (await client.post('/v1/chat/completions', { ...request, model })).json() as {
        model: string;
        choices: [{ message: { content: string } }];
      };
      expect(reply.choices[0].message.content).toBe(introduction);
      expect(reply.model).toBe(`koboldcpp/${model.split('/').at(-1)}`);
    }
    expect((await client.post('/v1/chat/completions', { ...request, model: 'nobody' })).status).toBe(404);
    await both.stop();
  });

  test('check and abort work by key', async () => {
    const client = nativeClient(front.base);
    const generating = client.generate({ prompt: longStory, max_length: 1500, genkey: 'K1', ...neverEnding });
    let soFar = '';
    while (soFar.length < 20) soFar = await client.check('K1');
    expect((await client.post('/api/extra/abort', { genkey: 'K1' })).json()).toMatchObject({ success: 'true' });
    const { text } = await generating;
    expect(text.startsWith(soFar)).toBe(true);
    await allIdle();
  });

  test('disconnect: ends the request at the backend', async () => {
    const body = { prompt: longStory, max_length: 1500, ...neverEnding };
    const request = openRequest(front.base, '/api/extra/generate/stream', body);
    await request.begun;
    request.hangUp();
    await request.over;
    await allIdle();
  });

  test('lost backend: started replies fail with an error, new requests use the other one', async () => {
    const client = nativeClient(front.base);
    const request = { max_length: 1500, temperature: 0, ...neverEnding };
    // However they are spread, five are more than the share of one.
    const running = Array.from({ length: 5 }, (_, number) => {
      const prompt = `Story ${number * 7919}: once upon a time`;
      return client.stream({ ...request, prompt, genkey: `S${number}` });
    });
    for (const number of running.keys()) while ((await client.check(`S${number}`)) === '');
    const [first] = behind as [LiveServer];
    process.kill(first.pid, 'SIGKILL');
    await front.says(`The remote backend at 127.0.0.1:${first.port} `);
    const after = await openaiClient(front.base).chat.completions.create({
      model: 'any',
      messages: hello,
      temperature: 0,
      ...introducing,
    });
    expect(after.choices[0]?.message.content).toBe(introduction);
    for (const number of running.keys()) await client.post('/api/extra/abort', { genkey: `S${number}` });
    const ends = (await Promise.all(running)).map(({ answer, frames }) => ({ answer, last: frames.at(-1)?.data }));
    const lost = ends.filter(({ answer }) => answer.text.includes('broke off in the middle of this reply'));
    expect(lost.length).toBeGreaterThan(0);
    expect(lost.length).toBeLessThan(ends.length);
    for (const { answer } of ends) expect(answer.status).toBe(200);
  });

  test('no backend left: error in the form of each dialect, with the host only', async () => {
    const [, second] = behind as [LiveServer, LiveServer];
    process.kill(second.pid, 'SIGKILL');
    await front.says(`The remote backend at 127.0.0.1:${second.port} `);
    const client = nativeClient(front.base);
    const chat = await client.post('/v1/chat/completions', { messages: hello });
    expect(chat.status).toBe(503);
    expect(Number(chat.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((chat.json() as { error: { message: string } }).error.message).toContain(`127.0.0.1:${second.port}`);
    expect((await client.post('/api/v1/generate', { prompt: 'Hi' })).status).toBe(503);
    expect((await client.post('/api/chat', { model: 'any', messages: hello })).status).toBe(503);
    const message = await client.post('/v1/messages', { model: 'any', max_tokens: 5, messages: hello });
    expect((message.json() as { type: string }).type).toBe('error');
  });
});

async function allIdle(): Promise<void> {
  const idle = (figures: Record<string, number>): boolean => figures.idle === 1 && figures.queue === 0;
  await Promise.all(behind.map(({ base }) => nativeClient(base).performanceWhere(idle)));
}

test('--nomodel --remote: an unreachable backend is named in the error of each family', async () => {
  const server = await startServer(['--nomodel', '--remote', 'http://127.0.0.1:9']);
  const sentence = 'The remote backend at http://127.0.0.1:9 is not reachable: connection refused.';
  const client = nativeClient(server.base);
  const chat = await client.post('/v1/chat/completions', { messages: hello });
  expect([chat.status, (chat.json() as { error: { message: string } }).error.message]).toEqual([503, sentence]);
  const native = await client.post('/api/v1/generate', { prompt: 'Hi' });
  expect([native.status, (native.json() as { detail: { msg: string } }).detail.msg]).toEqual([503, sentence]);
});
