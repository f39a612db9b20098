import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { nativeClient, neverEnding, saying } from '../live/client.ts';
import { askChat, bothWays, expectJsonObject } from './ask.ts';
import { liveClients } from './live-clients.ts';
import {
  greeting,
  introducing,
  introduction,
  knownContinuation,
  knownTokens,
  longStory,
  opening,
  personQuestion,
  personSchema,
} from './questions.ts';

const live = liveClients();

const model = 'any';
const hello = [{ role: 'user' as const, content: greeting }];
const story = [{ role: 'user' as const, content: longStory }];
const person = [{ role: 'user' as const, content: personQuestion }];
const text = ({ choices }: OpenAI.ChatCompletion) => choices[0]?.message.content ?? '';

describe.each(bothWays)('OpenAI SDK: chat, $way', ({ stream }) => {
  const chat = (fields: Parameters<typeof askChat>[2]) => askChat(live.openai, stream, fields);

  test('is answered by the loaded model, with correct usage', async () => {
    const reply = await chat({ messages: hello, ...introducing });
    expect(reply).toMatchObject({ object: 'chat.completion', model: 'koboldcpp/parley-mini' });
    expect(reply.choices).toMatchObject([
      { index: 0, message: { role: 'assistant', content: introduction }, finish_reason: 'stop' },
    ]);
    expect(reply.usage).toMatchObject({ prompt_tokens: 16, completion_tokens: 15, total_tokens: 31 });
  });

  test('ends with `length` at the limit', async () => {
    const reply = await chat({ messages: hello, max_tokens: 3, ...introducing });
    expect(reply.choices[0]).toMatchObject({ message: { content: "I'm Parley" }, finish_reason: 'length' });
    expect(reply.usage?.completion_tokens).toBe(3);
  });

  test('logprobs: has the logprobs of its tokens', async () => {
    // Whole characters only, and eight tokens of them.
    const letters = { ...neverEnding, grammar: 'root ::= [a-zA-Z ,.]+' };
    const figures = { logprobs: true, top_logprobs: 3 };
    const request = { messages: story, max_tokens: 8, temperature: 1, seed: 5, ...figures, ...letters };
    const reply = await chat(request);
    const tokens = reply.choices[0]?.logprobs?.content ?? [];
    expect(tokens).toHaveLength(8);
    expect(tokens.map(({ token }) => token).join('')).toBe(text(reply));
    for (const { token, bytes, logprob, top_logprobs: rivals } of tokens) {
      expect(Buffer.from(bytes ?? []).toString()).toBe(token);
      expect(logprob).toBeLessThanOrEqual(0);
      expect(rivals.length).toBeGreaterThan(0);
      expect(rivals.length).toBeLessThanOrEqual(3);
    }
    expect(tokens.some(({ logprob, top_logprobs: rivals }) => logprob < 0 && rivals.length > 1)).toBe(true);
  });

  test('n: has several choices', async () => {
    const reply = await chat({ messages: hello, n: 2, ...introducing });
    expect(reply.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, introduction],
      [1, introduction],
    ]);
    expect(reply.usage).toMatchObject({ prompt_tokens: 16, completion_tokens: 30 });
  });

  test('stop: ends before a stop text', async () => {
    const reply = await chat({ messages: hello, stop: ['never this', 'small'], ...introducing });
    expect(reply.choices[0]).toMatchObject({ message: { content: "I'm Parley Mini, the " }, finish_reason: 'stop' });
  });

  test('seed: same seed gives the same text, another seed another', async () => {
    const sample = (seed: number) =>
      chat({ messages: story, temperature: 1.5, top_p: 1, seed, max_tokens: 40, ...neverEnding });
    const [first, again, other] = [await sample(77), await sample(77), await sample(78)];
    expect(text(again)).toBe(text(first));
    expect(text(other)).not.toBe(text(first));
  });

  test('logit_bias: a token with a large negative bias is not chosen', async () => {
    const answer = await nativeClient(live.server.base).post('/api/extra/tokencount', {
      prompt: ' Parley',
      special: false,
    });
    const { ids } = answer.json() as { ids: number[] };
    const bias = Object.fromEntries(ids.map((id) => [id, -100]));
    expect(text(await chat({ messages: hello, logit_bias: bias }))).not.toContain(' Parley');
  });

  test('continues a last assistant message', async () => {
    const begun = { role: 'assistant' as const, content: "I'm Parley" };
    const rest = introduction.slice(begun.content.length);
    const reply = await chat({ messages: [...hello, begun], ...saying(rest) });
    expect([text(reply), reply.usage?.prompt_tokens]).toEqual([rest, 16 + 3]);
  });

  test('response_format json_object: is a JSON object', async () => {
    const reply = await chat({ messages: person, response_format: { type: 'json_object' } });
    expectJsonObject(text(reply), reply.choices[0]?.finish_reason === 'stop');
  });

  test('response_format json_schema: matches the schema, also for an unrelated question', async () => {
    const format = {
      type: 'json_schema',
      json_schema: { name: 'person', strict: true, schema: personSchema },
    } as const;
    for (const messages of [person, hello]) {
      const value = JSON.parse(text(await chat({ messages, response_format: format })));
      expect(value).toEqual({ name: expect.any(String), age: expect.any(Number) });
      expect(Number.isInteger(value.age)).toBe(true);
    }
  });
});

describe('OpenAI SDK: stream of chat chunks', () => {
  const chunksOf = async (fields: object = {}) => {
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    const request = {
      model,
      messages: hello,
      temperature: 0,
      max_tokens: 40,
      stream: true,
      ...introducing,
      ...fields,
    } as const;
    for await (const chunk of await live.openai.chat.completions.create(request)) chunks.push(chunk);
    return chunks;
  };

  test('role is in the first chunk, finish_reason in the last', async () => {
    const chunks = await chunksOf();
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    expect(chunks.at(-1)?.choices[0]).toMatchObject({ delta: {}, finish_reason: 'stop' });
    expect(chunks.filter(({ choices }) => choices[0]?.delta.content)).not.toHaveLength(1);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  test('include_usage: a last chunk without choices has the usage; without it there is none', async () => {
    const counted = await chunksOf({ stream_options: { include_usage: true } });
    expect(counted.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 16, completion_tokens: 15 } });
    expect(counted.slice(0, -1).every(({ usage }) => !usage)).toBe(true);
    expect((await chunksOf()).every(({ usage }) => !usage)).toBe(true);
  });
});

describe('OpenAI SDK: completion', () => {
  const request = { model, prompt: opening, max_tokens: knownTokens, temperature: 0, ...neverEnding };
  const continued = knownContinuation;

  test('continues the text', async () => {
    const { choices, usage } = await live.openai.completions.create(request);
    expect(choices).toMatchObject([{ index: 0, text: continued, finish_reason: 'length' }]);
    expect(usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 12, total_tokens: 16 });
  });

  test('stream: gives the same text and usage', async () => {
    const pieces: string[] = [];
    let usage: OpenAI.CompletionUsage | null | undefined;
    const options = { stream: true, stream_options: { include_usage: true } } as const;
    for await (const chunk of await live.openai.completions.create({ ...request, ...options })) {
      if (chunk.choices[0]?.text) pieces.push(chunk.choices[0].text);
      usage = chunk.usage ?? usage;
    }
    expect(pieces.join('')).toBe(continued);
    expect(pieces.length).toBeGreaterThan(1);
    expect(usage).toMatchObject({ prompt_tokens: 4, completion_tokens: 12 });
  });

  test('several prompts with echo: has one choice per prompt, each with its prompt', async () => {
    const { choices } = await live.openai.completions.create({
      ...request,
      prompt: [request.prompt, 'The cat'],
      echo: true,
    });
    expect(choices.map((choice) => choice.text)).toEqual([
      request.prompt + continued,
      expect.stringMatching(/^The cat./s),
    ]);
  });
});

test('models: lists the model under the name in replies', async () => {
  const listed: string[] = [];
  for await (const each of live.openai.models.list()) listed.push(each.id);
  expect(listed).toEqual(['koboldcpp/parley-mini']);
  expect(await live.openai.models.retrieve('all-MiniLM-L6-v2')).toMatchObject({ object: 'model' });
  expect(await live.openai.models.retrieve('koboldcpp/parley-mini')).toMatchObject({ object: 'model' });
  await expect(live.openai.models.retrieve('another')).rejects.toBeInstanceOf(OpenAI.NotFoundError);
});

test('invalid request: the error names the field', async () => {
  const wrong = live.openai.chat.completions.create({ model, messages: hello, n: 0 });
  await expect(wrong).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  await expect(wrong).rejects.toMatchObject({ status: 400, param: 'n', type: 'invalid_request_error' });
});
