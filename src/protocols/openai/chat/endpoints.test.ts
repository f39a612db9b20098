import { expect, test } from 'vitest';
import { AppError } from '../../../core/errors.ts';
import type { GenerationEvent } from '../../../core/events.ts';
import type { Reply } from '../../../http/call.ts';
import { router } from '../../../http/router.ts';
import { bindAll } from '../../testing/bind.ts';
import {
  callOf,
  dialectParts,
  finishEvent,
  play,
  type Script,
  scriptedChat,
  scriptedText,
  seeing,
  startEvent,
} from '../../testing/doubles.ts';
import { chatEndpoints } from './endpoints.ts';

const path = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Hi' }];
const timings = { initMs: 1, promptMs: 8, generationMs: 50, processedTokens: 4 };
const start = startEvent();
const finish = finishEvent({ timings });
const text = (words: string): GenerationEvent => ({ type: 'text-delta', text: words });
const thought = (words: string): GenerationEvent => ({ type: 'reasoning-delta', text: words });
const called: readonly GenerationEvent[] = [
  { type: 'tool-start', index: 0, id: 'call_x1', name: 'get_weather' },
  { type: 'tool-delta', index: 0, json: '{"ci' },
  { type: 'tool-delta', index: 0, json: 'ty":"Paris"}' },
  { type: 'tool-end', index: 0 },
];
const token = (words: string) => {
  const choice = { token: 9, text: words, bytes: [...Buffer.from(words)], logprob: -0.5 };
  return { ...choice, top: [choice, { ...choice, token: 8, text: 'Yo', logprob: Number.NEGATIVE_INFINITY }] };
};

async function post(script: Script, body: object, own: Partial<Parameters<typeof callOf>[2]> = {}): Promise<Reply> {
  const parts = dialectParts({ chat: scriptedChat(script).chat });
  const endpoint = router(bindAll(chatEndpoints, parts)).find('POST', path);
  if (!endpoint) throw new Error('no chat');
  return endpoint.handle(callOf(path, { messages, ...body }, own));
}

async function streamOf(reply: Reply): Promise<string> {
  if (!('stream' in reply)) throw new Error(`not a stream: ${reply.status} ${reply.body}`);
  let all = '';
  for await (const piece of reply.stream) all += piece;
  return all;
}

const bodyOf = (reply: Reply) => ('body' in reply ? JSON.parse(String(reply.body)) : undefined);

const head = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"mini","system_fingerprint":"b_parley","choices":`;
const delta = (value: string, index = 0) =>
  `${head}[{"index":${index},"delta":${value},"logprobs":null,"finish_reason":null}]}\n\n`;
const end = (reason: string, more = lastTimings, index = 0) =>
  `${head}[{"index":${index},"delta":{},"logprobs":null,"finish_reason":"${reason}"}]${more}}\n\n`;
const role = (index = 0) => delta('{"role":"assistant","content":""}', index);
const figures =
  '"timings":{"cache_n":3,"prompt_n":4,"prompt_ms":8,"prompt_per_token_ms":2,"prompt_per_second":500,"predicted_n":5,"predicted_ms":50,"predicted_per_token_ms":10,"predicted_per_second":100}';
const lastTimings = `,${figures}`;
const done = 'data: [DONE]\n\n';
const usage = (completion: number, thinking = 0) =>
  `"usage":{"prompt_tokens":7,"completion_tokens":${completion},"total_tokens":${7 + completion},"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":${thinking}}}`;

test('chat stream: role once, text, finish_reason', async () => {
  const reply = await post([start, text('Hel'), text('lo "you"\n'), finish], { stream: true });
  expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream' } });
  expect(await streamOf(reply)).toBe(
    role() + delta('{"content":"Hel"}') + delta('{"content":"lo \\"you\\"\\n"}') + end('stop') + done,
  );
});

test('chat stream: include_usage adds a chunk without choices, which has the timings', async () => {
  const spent = finishEvent({
    timings,
    usage: { promptTokens: 7, cachedTokens: 3, completionTokens: 5, reasoningTokens: 2 },
  });
  const body = { stream: true, stream_options: { include_usage: true } };
  expect(await streamOf(await post([start, thought('Hm'), text('Hi'), spent], body))).toBe(
    role() +
      delta('{"reasoning_content":"Hm"}') +
      delta('{"content":"Hi"}') +
      end('stop', '') +
      `${head}[],${usage(5, 2)},${figures}}\n\n` +
      done,
  );
});

test('chat stream: a tool call has id, type and name once, arguments as deltas', async () => {
  const events = [start, ...called, finishEvent({ reason: 'tool-calls', timings })];
  const body = { stream: true, tools: [{ type: 'function', function: { name: 'get_weather' } }] };
  expect(await streamOf(await post(events, body))).toBe(
    role() +
      delta(
        '{"tool_calls":[{"index":0,"id":"call_x1","type":"function","function":{"name":"get_weather","arguments":""}}]}',
      ) +
      delta('{"tool_calls":[{"index":0,"function":{"arguments":"{\\"ci"}}]}') +
      delta('{"tool_calls":[{"index":0,"function":{"arguments":"ty\\":\\"Paris\\"}"}}]}') +
      end('tool_calls') +
      done,
  );
});

test('chat: functions get one function_call', async () => {
  const second = { type: 'tool-start', index: 1, id: 'call_x2', name: 'get_weather' } as const;
  const events = [start, ...called, second, finishEvent({ reason: 'tool-calls', timings })];
  const body = { functions: [{ name: 'get_weather' }] };
  expect(await streamOf(await post(events, { ...body, stream: true }))).toBe(
    role() +
      delta('{"function_call":{"name":"get_weather","arguments":""}}') +
      delta('{"function_call":{"arguments":"{\\"ci"}}') +
      delta('{"function_call":{"arguments":"ty\\":\\"Paris\\"}"}}') +
      end('function_call') +
      done,
  );
  expect(bodyOf(await post(events, body)).choices).toEqual([
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        refusal: null,
        function_call: { name: 'get_weather', arguments: '{"city":"Paris"}' },
      },
      logprobs: null,
      finish_reason: 'function_call',
    },
  ]);
});

test('chat stream: n replies interleave, each with role and end; the prompt counts once', async () => {
  const body = { n: 2, stream: true, stream_options: { include_usage: true } };
  const streamed = await streamOf(await post([start, text('A'), finish], body));
  const frames = streamed.split(/(?<=\n\n)/);
  for (const index of [0, 1]) {
    const own = frames.filter((frame) => frame.includes(`"choices":[{"index":${index}`)).join('');
    expect(own).toBe(role(index) + delta('{"content":"A"}', index) + end('stop', '', index));
  }
  expect(streamed).toContain(`[],${usage(10)},`);
});

test('chat stream: logprobs are in the chunk of their text, and finite', async () => {
  const logprobs = [token('Hi')];
  const silent: GenerationEvent = { type: 'text-delta', text: '', logprobs: [token('<end>')] };
  const events: GenerationEvent[] = [start, { type: 'text-delta', text: 'Hi', logprobs }, silent, finish];
  const encoded = {
    content: [
      {
        id: 9,
        token: 'Hi',
        logprob: -0.5,
        bytes: [72, 105],
        top_logprobs: [
          { id: 9, token: 'Hi', logprob: -0.5, bytes: [72, 105] },
          { id: 8, token: 'Yo', logprob: -9999, bytes: [72, 105] },
        ],
      },
    ],
    refusal: null,
  };
  const streamed = await streamOf(await post(events, { stream: true, logprobs: true, top_logprobs: 2 }));
  expect(streamed).toBe(
    role() +
      `${head}[{"index":0,"delta":{"content":"Hi"},"logprobs":${JSON.stringify(encoded)},"finish_reason":null}]}\n\n` +
      end('stop') +
      done,
  );
  expect(bodyOf(await post(events, { logprobs: true })).choices[0].logprobs).toEqual(encoded);
});

test('chat stream: timings_per_token adds running timings to every chunk', async () => {
  let time = 1_700_000_000_000;
  const script = async function* (): AsyncGenerator<GenerationEvent> {
    yield start;
    time += 8;
    yield text('a');
    time += 10;
    yield text('b');
    yield finish;
  };
  const parts = dialectParts({ chat: scriptedChat(script).chat, now: () => time });
  const [endpoint] = bindAll(chatEndpoints, parts);
  const reply = await endpoint?.handle(callOf(path, { messages, stream: true, timings_per_token: true }));
  const chunks = (await streamOf(reply as Reply)).split('\n\n').filter((each) => each.includes('"content":"'));
  const chunkTimings = chunks.map((each) => JSON.parse(each.slice('data: '.length)).timings);
  expect(chunkTimings).toEqual([
    undefined,
    expect.objectContaining({ cache_n: 3, prompt_n: 4, prompt_ms: 8, predicted_n: 1, predicted_ms: 0 }),
    expect.objectContaining({ cache_n: 3, prompt_n: 4, prompt_ms: 8, predicted_n: 2, predicted_ms: 10 }),
  ]);
});

test('chat stream: a failure is an error object, then [DONE]', async () => {
  const error = new AppError('engine-lost', { capability: 'text' });
  const streamed = await streamOf(await post([start, text('Hel'), { type: 'error', error }], { stream: true }));
  expect(streamed).toBe(
    role() +
      delta('{"content":"Hel"}') +
      'data: {"error":{"message":"The text engine stopped in the middle of this request; it is being started again.","type":"server_error","param":null,"code":null}}\n\n' +
      done,
  );
});

test('chat stream: an unexpected exception is an error object', async () => {
  const script = async function* (): AsyncGenerator<GenerationEvent> {
    yield start;
    throw new Error('oops');
  };
  const streamed = await streamOf(await post(script, { stream: true }));
  expect(streamed).toContain('data: {"error":{"message":"Something unexpected went wrong here: oops."');
  expect(streamed.endsWith(done)).toBe(true);
});

test.each([true, false])('chat: an error before the first event keeps its status (stream: %s)', async (stream) => {
  const error = new AppError('context-overflow', { promptTokens: 9000, contextSize: 4096 });
  await expect(post([{ type: 'error', error }], { stream })).rejects.toMatchObject({
    status: 400,
    details: { field: 'messages', promptTokens: 9000 },
  });
});

test('chat: an aborted reply has finish_reason length', async () => {
  const events = [start, text('Hel'), finishEvent({ reason: 'aborted', cause: 'aborted', timings })];
  expect(await streamOf(await post(events, { stream: true }))).toBe(
    role() + delta('{"content":"Hel"}') + end('length') + done,
  );
});

test('chat stream: events without a finish still get an end', async () => {
  const streamed = await streamOf(await post([start, text('Hel')], { stream: true }));
  expect(streamed).toContain('"finish_reason":"length"');
  expect(streamed.endsWith(done)).toBe(true);
});

test('chat stream: warnings are on the last chunk', async () => {
  const warning: GenerationEvent = { type: 'warning', code: 'x', text: 'Careful.' };
  expect(await streamOf(await post([start, warning, finish], { stream: true }))).toBe(
    role() + end('stop', `${lastTimings},"warnings":["Careful."]`) + done,
  );
  expect(bodyOf(await post([start, warning, finish], {})).warnings).toEqual(['Careful.']);
});

test('chat: a whole reply is one object', async () => {
  const spent = finishEvent({
    timings,
    usage: { promptTokens: 7, cachedTokens: 3, completionTokens: 5, reasoningTokens: 2 },
  });
  const reply = await post([start, thought('Hm'), text('Hel'), text('lo'), spent], { service_tier: 'auto' });
  expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  expect('body' in reply && reply.body).toBe(
    '{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"mini","system_fingerprint":"b_parley","service_tier":"default",' +
      '"choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null,"reasoning_content":"Hm"},"logprobs":null,"finish_reason":"stop"}],' +
      `${usage(5, 2)},${figures}}`,
  );
});

test('chat: a whole reply with calls has null content and arguments as text', async () => {
  const body = { tools: [{ type: 'function', function: { name: 'get_weather' } }] };
  const reply = await post([start, ...called, finishEvent({ reason: 'tool-calls' })], body);
  expect(bodyOf(reply).choices[0]).toEqual({
    index: 0,
    message: {
      role: 'assistant',
      content: null,
      refusal: null,
      tool_calls: [
        { id: 'call_x1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
      ],
    },
    logprobs: null,
    finish_reason: 'tool_calls',
  });
});

test('chat: a call that was cut at the limit is returned as it is', async () => {
  const reply = await post([start, ...called, finishEvent({ reason: 'length', cause: 'limit' })], {});
  expect(bodyOf(reply).choices[0].finish_reason).toBe('length');
});

test('chat: a failure of one of n replies stops the others', async () => {
  let stopped = false;
  const error = new AppError('engine-lost', { capability: 'text' });
  const endless: AsyncIterable<GenerationEvent> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => undefined),
      return: () => {
        stopped = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
  const { chat } = scriptedChat([], { replies: () => [play([{ type: 'error', error }]), endless] });
  const [endpoint] = bindAll(chatEndpoints, dialectParts({ chat }));
  await expect(endpoint?.handle(callOf(path, { messages, n: 2 }))).rejects.toBe(error);
  expect(stopped).toBe(true);
});

test('chat: headers name ignored fields and dropped tokens', async () => {
  const body = { store: true, tools: [{ type: 'web_search' }], messages: [{ ...messages[0], name: 'Ann' }] };
  expect(await post([startEvent({ droppedTokens: 12 }), finish], body)).toMatchObject({
    headers: { 'x-parley-ignored': 'store, tools[0], messages[].name', 'x-parley-dropped-tokens': '12' },
  });
});

test('chat: no logprobs for the token that ended the text, streamed or whole', async () => {
  const events: Script = [start, { type: 'text-delta', text: '#', logprobs: [token('#'), token('</s>')] }, finish];
  const { choices } = bodyOf(await post(events, { logprobs: true }));
  expect(choices[0].logprobs.content).toMatchObject([{ token: '#' }]);
  const streamed = await streamOf(await post(events, { logprobs: true, stream: true }));
  expect(streamed).toContain('{"content":[{"id":9,"token":"#"');
  expect(streamed).not.toContain('</s>');
});

test('chat stream: keep-alive comments are padded if tools are offered', async () => {
  const tools = [{ type: 'function', function: { name: 'get_weather' } }];
  const fillerOf = (reply: Reply) => ('stream' in reply ? reply.keepAlive?.filler : undefined);
  const plain = fillerOf(await post([start, finish], { stream: true }));
  const padded = fillerOf(await post([start, finish], { stream: true, tools }));
  expect(plain).toBe(': keepalive\n\n');
  expect(padded).toMatch(/^: keepalive +\n\n$/);
  expect(padded).toHaveLength(2048);
});

test('chat: sends padding before a late whole reply if requested', async () => {
  const timer = () => ({ restart: () => undefined, cancel: () => undefined });
  const parts = dialectParts({
    chat: scriptedChat([start, text('Hi'), finish]).chat,
    // A timer that has always run out: the reply is late from the start.
    startTimer: (_, passed) => {
      passed();
      return timer();
    },
  });
  const [endpoint] = bindAll(chatEndpoints, parts);
  const headers = { 'x-koboldcpp-keepalive': 'true' };
  const reply = (await endpoint?.handle(callOf(path, { messages }, { headers }))) as Reply;
  expect(JSON.parse(await streamOf(reply))).toMatchObject({ choices: [{ message: { content: 'Hi' } }] });
});

test('input_tokens: counts without the queue', async () => {
  const found = bindAll(chatEndpoints, dialectParts()).find((each) => each.path === `${path}/input_tokens`);
  expect(found?.rateLimited).toBe(false);
  expect(bodyOf((await found?.handle(callOf(path, { messages }))) as Reply)).toEqual({
    object: 'response.input_tokens',
    input_tokens: 42,
  });
});

test('input_tokens: fails without a model', async () => {
  const { text: service } = scriptedText([], { state: () => ({ type: 'none' }) });
  const found = bindAll(chatEndpoints, dialectParts({ text: service })).find((each) =>
    each.path.endsWith('input_tokens'),
  );
  await expect(found?.handle(callOf(path, { messages }))).rejects.toMatchObject({ code: 'model-missing' });
});

test('chat: fetches pictures by URL, for every reply', async () => {
  const { chat, asked } = scriptedChat([start, text('A cat.'), finish]);
  const seen = scriptedText([], { state: () => seeing() }).text;
  const signals: AbortSignal[] = [];
  const fetchMedia = async (_: string, signal: AbortSignal) => {
    signals.push(signal);
    return { type: 'fetched', bytes: Buffer.from([0, 0, 0]), contentType: undefined } as const;
  };
  const endpoints = router(bindAll(chatEndpoints, dialectParts({ chat, text: seen, fetchMedia })));
  const image = { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } };
  const body = { messages: [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] }], n: 2 };
  const call = callOf(path, body);
  expect(await endpoints.find('POST', path)?.handle(call)).toMatchObject({ status: 200 });
  expect(signals).toEqual([call.signal]);
  expect(asked[0]?.request.conversation.media).toEqual([{ kind: 'image', base64: 'AAAA' }]);
  expect(asked[0]?.request.conversation.messages[0]?.content.at(-1)).toEqual({ type: 'medium', index: 0 });
  const count = `${path}/input_tokens`;
  expect(await endpoints.find('POST', count)?.handle(callOf(count, body))).toMatchObject({
    headers: { 'x-parley-warnings': 'media-not-counted' },
  });
});

test('chat: prompt_logprobs are beside the choices, once', async () => {
  const choice = { token: 9, text: 'Hi', bytes: [], logprob: -0.5 };
  const first = { ...choice, logprob: null, rank: null, top: [], inPrompt: false };
  const second = { ...choice, rank: 2, top: [{ ...choice, token: 8, text: 'Yo', logprob: -0.25 }], inPrompt: true };
  const scored: GenerationEvent = { type: 'prompt-logprobs', tokens: [first, second] };
  const body = bodyOf(await post([start, scored, text('A'), finish], { prompt_logprobs: 1, n: 2 }));
  expect(body.choices).toHaveLength(2);
  expect(body.prompt_logprobs).toEqual([
    null,
    { 8: { logprob: -0.25, rank: 1, decoded_token: 'Yo' }, 9: { logprob: -0.5, rank: 2, decoded_token: 'Hi' } },
  ]);
  expect(bodyOf(await post([start, scored, text('A'), finish], {}))).not.toHaveProperty('prompt_logprobs');
});
