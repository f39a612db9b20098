import { describe, expect, test } from 'vitest';
import { AppError } from '../../../core/errors.ts';
import type { GenerationEvent } from '../../../core/events.ts';
import type { Reservation, TextService } from '../../../core/text-service.ts';
import type { Call, Reply } from '../../../http/call.ts';
import { router } from '../../../http/router.ts';
import { bindAll } from '../../testing/bind.ts';
import {
  callOf,
  dialectParts,
  finishEvent,
  onlyPlace,
  play,
  type Script,
  scriptedText,
  seeing,
  startEvent,
} from '../../testing/doubles.ts';
import { completionEndpoints } from './endpoints.ts';

const path = '/v1/completions';
const timings = { initMs: 1, promptMs: 8, generationMs: 50, processedTokens: 4 };
const start = startEvent();
const finish = finishEvent({ timings });
const text = (words: string): GenerationEvent => ({ type: 'text-delta', text: words });
const token = (words: string, logprob: number) => {
  const choice = { token: words.length, text: words, bytes: [...Buffer.from(words)], logprob };
  return { ...choice, top: [choice] };
};
const counted = (words: string, logprob: number): GenerationEvent => ({
  type: 'text-delta',
  text: words,
  logprobs: [token(words, logprob)],
});

async function post(script: Script, body: object, own: Partial<TextService> = {}, call: Partial<Call> = {}) {
  const { text: service, asked } = scriptedText(script, own);
  const parts = { ...dialectParts({ text: service }), replacePlaceholders: <Texts>(texts: Texts) => texts };
  const endpoint = router(bindAll(completionEndpoints, parts)).find('POST', path);
  if (!endpoint) throw new Error('no completions');
  const reply = await endpoint.handle(callOf(path, { prompt: 'Once', ...body }, call));
  return { reply, asked };
}

async function streamOf(reply: Reply): Promise<string> {
  if (!('stream' in reply)) throw new Error('not a stream');
  let all = '';
  for await (const piece of reply.stream) all += piece;
  return all;
}

const bodyOf = (reply: Reply) => ('body' in reply ? JSON.parse(String(reply.body)) : undefined);

/** Another script for each generation. */
function inTurn(...scripts: (readonly GenerationEvent[])[]): Script {
  const left = [...scripts];
  return () => play(left.shift() ?? []);
}

const head = `{"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"mini","system_fingerprint":"b_parley","choices":`;
const piece = (words: string, index = 0) =>
  `data: ${head}[{"index":${index},"text":${JSON.stringify(words)},"logprobs":null,"finish_reason":null}]}\n\n`;
const figures =
  '"timings":{"cache_n":3,"prompt_n":4,"prompt_ms":8,"prompt_per_token_ms":2,"prompt_per_second":500,"predicted_n":5,"predicted_ms":50,"predicted_per_token_ms":10,"predicted_per_second":100}';
const end = (reason: string, index = 0, more = `,${figures}`) =>
  `data: ${head}[{"index":${index},"text":"","logprobs":null,"finish_reason":"${reason}"}]${more}}\n\n`;
const done = 'data: [DONE]\n\n';

test('completions: a whole reply is one object', async () => {
  const { reply } = await post([start, text(' upon'), text(' a'), finish], {});
  expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  expect('body' in reply && reply.body).toBe(
    `${head}[{"index":0,"text":" upon a","logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":0}},${figures}}`,
  );
});

test('completions: a stream is the deltas, a chunk with finish_reason, and [DONE]', async () => {
  const { reply } = await post([start, text(' upon'), text(' a'), finishEvent({ reason: 'length', timings })], {
    stream: true,
  });
  expect(await streamOf(reply)).toBe(piece(' upon') + piece(' a') + end('length') + done);
});

test('completions: usage and timings are in the last chunk', async () => {
  const { reply } = await post([start, text('!'), finish], { stream: true, stream_options: { include_usage: true } });
  expect(await streamOf(reply)).toBe(
    `${piece('!')}${end('stop', 0, '')}data: ${head}[],"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":0}},${figures}}\n\n${done}`,
  );
});

test('completions: several prompts share one queue entry, and each reply has its own seed', async () => {
  const seeds: number[] = [];
  let places = 0;
  const reserve = (): Reservation => {
    places += 1;
    return {
      generate: ({ sampling, prompt }) => {
        seeds.push(sampling.seed);
        return play([start, text(`${prompt}${seeds.length}`), finish]);
      },
      ...onlyPlace,
      release: () => {
        places -= 1;
      },
    };
  };
  const { reply } = await post([], { prompt: ['a', 'b'], n: 2, seed: 10 }, { reserve });
  const { choices, usage } = bodyOf(reply);
  expect(choices.map((choice: { index: number; text: string }) => `${choice.index} ${choice.text}`)).toEqual([
    '0 a1',
    '1 a2',
    '2 b3',
    '3 b4',
  ]);
  expect(usage).toMatchObject({ prompt_tokens: 14, completion_tokens: 20 });
  expect(seeds).toEqual([10, 11, 10, 11]);
  expect(places).toBe(0);
});

test('completions: choices are numbered prompt by prompt in a stream', async () => {
  const { reply } = await post([start, text('!'), finish], { prompt: ['a', 'b'], echo: true, stream: true });
  expect(await streamOf(reply)).toBe(
    piece('a') + piece('!') + end('stop') + piece('b', 1) + piece('!', 1) + end('stop', 1) + done,
  );
});

test('best_of: returns the likeliest candidates and counts all in usage', async () => {
  const scripts = [-3, -1, -2].map((logprob) => [start, counted(String(logprob), logprob), finish]);
  const { reply } = await post(inTurn(...scripts), { n: 2, best_of: 3 });
  const body = bodyOf(reply);
  expect(body.choices).toEqual([
    { index: 0, text: '-1', logprobs: null, finish_reason: 'stop' },
    { index: 1, text: '-2', logprobs: null, finish_reason: 'stop' },
  ]);
  expect(body.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 15 });
});

const figuresOf = (words: string, logprob: number) => ({
  id: words.length,
  token: words,
  logprob,
  bytes: [...Buffer.from(words)],
});

test('logprobs: both forms in one object, with offsets that continue through the stream', async () => {
  const events = [start, counted('Hé', -0.1), counted('llo', -0.4), finish];
  const { reply } = await post(events, { logprobs: 1 });
  expect(bodyOf(reply).choices[0].logprobs).toEqual({
    content: [
      { ...figuresOf('Hé', -0.1), top_logprobs: [figuresOf('Hé', -0.1)] },
      { ...figuresOf('llo', -0.4), top_logprobs: [figuresOf('llo', -0.4)] },
    ],
    tokens: ['Hé', 'llo'],
    token_ids: [2, 3],
    token_logprobs: [-0.1, -0.4],
    top_logprobs: [{ Hé: -0.1 }, { llo: -0.4 }],
    text_offset: [0, 2],
  });
  const streamed = await streamOf((await post(events, { logprobs: 1, stream: true })).reply);
  const offsets = [...streamed.matchAll(/"text_offset":(\[[^\]]*\])/g)].map(([, list]) => list);
  expect(offsets).toEqual(['[0]', '[2]']);
});

test('logprobs: no entry for the token that ended the text, streamed or whole', async () => {
  const last: GenerationEvent = { type: 'text-delta', text: '#', logprobs: [token('#', -0.2), token('</s>', -0.1)] };
  const events = [start, counted('Hi', -0.3), last, finish];
  const { reply } = await post(events, { logprobs: 0 });
  expect(bodyOf(reply).choices[0].logprobs).toMatchObject({ tokens: ['Hi', '#'], text_offset: [0, 2] });
  const streamed = await streamOf((await post(events, { logprobs: 0, stream: true })).reply);
  expect([...streamed.matchAll(/"tokens":(\[[^\]]*\])/g)].map(([, list]) => list)).toEqual(['["Hi"]', '["#"]']);
});

test('echo with max_tokens 0: generates nothing', async () => {
  const { reply, asked } = await post([], { prompt: 'Once', echo: true, max_tokens: 0 });
  expect(asked).toEqual([]);
  expect(bodyOf(reply)).toMatchObject({
    choices: [{ text: 'Once', finish_reason: 'length' }],
    usage: { prompt_tokens: 5, completion_tokens: 0 },
  });
});

test('echo with max_tokens 0: fails without a model', async () => {
  const own: Partial<TextService> = { state: () => ({ type: 'none' }) };
  await expect(post([], { echo: true, max_tokens: 0 }, own)).rejects.toMatchObject({ code: 'model-missing' });
});

test.each([true, false])('completions: a full context is an error of the field prompt (stream: %s)', async (stream) => {
  const error = new AppError('context-overflow', { promptTokens: 9000, contextSize: 4096 });
  await expect(post([{ type: 'error', error }], { stream })).rejects.toMatchObject({
    status: 400,
    details: { field: 'prompt' },
  });
});

test('completions: a failure in mid-stream is an error object, then [DONE]', async () => {
  const error = new AppError('engine-lost', { capability: 'text' });
  const streamed = await streamOf((await post([start, text('a'), { type: 'error', error }], { stream: true })).reply);
  expect(streamed).toMatch(
    /^data: .*"text":"a".*\n\ndata: \{"error":\{"message":"The text engine .*\n\ndata: \[DONE\]\n\n$/,
  );
});

test('completions: a disconnect removes the request from the queue', async () => {
  const gone = new AbortController();
  const { asked } = await post([start, finish], {}, {}, { signal: gone.signal });
  gone.abort();
  expect(asked[0]?.requestContext.signal.aborted).toBe(true);
});

test('completions: x-parley-ignored names fields without effect', async () => {
  const { reply } = await post([start, finish], { user: 'ann', response_format: { type: 'json_object' } });
  expect(reply).toMatchObject({ headers: { 'x-parley-ignored': 'user, response_format' } });
});

test('completions: images apply to every prompt', async () => {
  const own = { state: () => seeing() };
  const { asked } = await post([start, finish], { images: ['AAAA'] }, own);
  expect(asked[0]?.request.media).toEqual([{ kind: 'image', base64: 'AAAA' }]);
  await expect(post([start, finish], { images: ['AAAA'] })).rejects.toThrow('--mmproj');
});

describe('echo with logprobs', () => {
  const asked = (words: string, logprob: number | null, own: object = {}) => {
    const { top: _, ...choice } = token(words, 0);
    return { ...choice, logprob, rank: logprob === null ? null : 1, top: [], inPrompt: true, ...own };
  };
  const scored = {
    type: 'prompt-logprobs' as const,
    tokens: [asked('<s>', null, { inPrompt: false }), asked('On', -4), asked('ce', -0.25)],
  };
  const silent = finishEvent({ reason: 'length', timings });

  test('precedes the reply', async () => {
    const script = [start, scored, counted(' upon', -0.5), finish];
    const { reply, asked: requests } = await post(script, { echo: true, logprobs: 1, max_tokens: 1 });
    const [choice] = bodyOf(reply).choices;
    expect(choice.text).toBe('Once upon');
    expect(choice.logprobs).toMatchObject({
      tokens: ['On', 'ce', ' upon'],
      token_logprobs: [null, -0.25, -0.5],
      top_logprobs: [null, { ce: -0.25 }, { ' upon': -0.5 }],
      text_offset: [0, 2, 4],
    });
    expect(requests[0]?.request).toMatchObject({ promptLogprobs: 1, logprobs: 1, maxTokens: 1 });
  });

  test('is the whole reply with max_tokens 0, and still runs the engine', async () => {
    const { reply, asked: requests } = await post([start, scored, silent], { echo: true, logprobs: 0, max_tokens: 0 });
    const [choice] = bodyOf(reply).choices;
    expect([choice.text, choice.finish_reason]).toEqual(['Once', 'length']);
    expect(choice.logprobs.token_logprobs).toEqual([null, -0.25]);
    expect(requests[0]?.request).toMatchObject({ maxTokens: 0 });
  });

  test('is one chunk of a stream, however the prompt logprobs arrive', async () => {
    const parts = scored.tokens.map((one): GenerationEvent => ({ type: 'prompt-logprobs', tokens: [one] }));
    const script = [start, ...parts, counted(' upon', -0.5), finish];
    const { reply } = await post(script, { echo: true, logprobs: 0, stream: true });
    const frames = (await streamOf(reply)).split('\n\n').filter((frame) => frame.startsWith('data: {'));
    const choices = frames.map((frame) => JSON.parse(frame.slice(6)).choices[0]);
    expect(choices.map(({ text: words }) => words)).toEqual(['Once', ' upon', '']);
    expect(choices[0].logprobs).toMatchObject({ tokens: ['On', 'ce'], token_logprobs: [null, -0.25], content: [] });
    expect(choices[1].logprobs).toMatchObject({ tokens: [' upon'], text_offset: [4] });
  });

  test('is sent in a stream without any text', async () => {
    const body = { echo: true, logprobs: 0, stream: true, max_tokens: 0 };
    const { reply } = await post([start, scored, silent], body);
    const first = (await streamOf(reply)).split('\n\n')[0] ?? '';
    expect(JSON.parse(first.slice(6)).choices[0]).toMatchObject({ text: 'Once', logprobs: { tokens: ['On', 'ce'] } });
  });

  test('is computed once for all replies to a prompt', async () => {
    const asks: (number | undefined)[] = [];
    const reserve = (): Reservation => ({
      generate: ({ promptLogprobs }) => {
        asks.push(promptLogprobs);
        return play([start, ...(promptLogprobs === undefined ? [] : [scored]), counted('!', -1), finish]);
      },
      ...onlyPlace,
      release: () => {},
    });
    const { reply } = await post([], { echo: true, logprobs: 2, n: 2, prompt: ['Once', 'Once'] }, { reserve });
    expect(asks).toEqual([2, undefined, 2, undefined]);
    const tokenTexts = bodyOf(reply).choices.map(
      (choice: { logprobs: { tokens: string[] } }) => choice.logprobs.tokens,
    );
    expect(tokenTexts).toEqual(Array.from({ length: 4 }, () => ['On', 'ce', '!']));
  });

  test('works together with prompt_logprobs', async () => {
    const { reply } = await post([start, scored, finish], { prompt_logprobs: 0 });
    const [choice] = bodyOf(reply).choices;
    expect(choice.text).toBe('');
    expect(choice.logprobs).toBeNull();
    expect(choice.prompt_logprobs).toEqual([
      null,
      { 2: { logprob: -4, rank: 1, decoded_token: 'On' } },
      { 2: { logprob: -0.25, rank: 1, decoded_token: 'ce' } },
    ]);
  });
});

test('max_tokens 0 without echo: an empty reply without generation', async () => {
  const { reply, asked } = await post([start, text('never'), finish], { max_tokens: 0 });
  expect(bodyOf(reply).choices).toMatchObject([{ text: '', finish_reason: 'length' }]);
  expect(asked).toEqual([]);
});
