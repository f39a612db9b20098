import { beforeAll, describe, expect, test } from 'vitest';
import { type NativeClient, nativeClient, neverEnding, openRequest, saying } from './client.ts';
import { type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();
let server: LiveServer;
let client: NativeClient;

beforeAll(async () => {
  server = await startServer();
  client = nativeClient(server.base);
});

const story = 'Once upon a time';
/** Runs until it is stopped, or at least for ten seconds. */
const long = { prompt: story, max_length: 1600, ban_eos_token: true, temperature: 0 };

describe('native API: whole reply', () => {
  test('has all documented members', async () => {
    const answer = await client.post('/api/v1/generate', {
      prompt: story,
      max_length: 8,
      temperature: 0,
      ...neverEnding,
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    const { results } = answer.json() as { results: object[] };
    expect(results).toEqual([
      {
        text: expect.stringMatching(/^, there was a/),
        tool_calls: [],
        finish_reason: 'length',
        logprobs: null,
        prompt_tokens: 4,
        completion_tokens: 8,
      },
    ]);
  });

  test('ends with `stop` at an end token, which is counted', async () => {
    const prompt = '<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n';
    const request = { prompt, max_length: 400, logprobs: true, ...saying('Hello to you') };
    const { finish_reason, completion_tokens, text, logprobs } = await client.generate(request);
    expect([finish_reason, text]).toEqual(['stop', 'Hello to you']);
    const tokens = logprobs?.content.map(({ token }) => token) ?? [];
    expect(completion_tokens).toBe(tokens.length);
    expect(tokens.slice(0, -1).join('')).toBe(text);
    expect(tokens.at(-1)).toBe('<|im_end|>');
  });

  test('same seed gives the same text, another seed another', async () => {
    const generate = (sampler_seed: number) =>
      client.generate({ prompt: story, temperature: 1.2, top_k: 0, top_p: 1, sampler_seed, max_length: 40 });
    const [first, again, other] = [await generate(77), await generate(77), await generate(78)];
    expect(again.text).toBe(first.text);
    expect(other.text).not.toBe(first.text);
    expect((await client.performance()).last_seed).toBe(78);
  });

  test('/request: answers the legacy form', async () => {
    const answer = await client.post('/request', { text: story, max: 6, top_k: 1 });
    expect(answer.json()).toEqual({ data: { seqs: [expect.stringMatching(/^, there was/)] } });
  });

  test('can be fetched by its key after a disconnect', async () => {
    const { text } = await client.generate({ prompt: story, genkey: 'KCPP1001' });
    expect(await client.check('KCPP1001')).toBe(text);
    expect(await client.check('KCPP9999')).toBe('');
    expect(await client.check()).toBe('');
  });

  test.each([
    ['[1, 2]', 400],
    ['{"prompt": ', 400],
    ['', 400],
    ['{"prompt": 5}', 400],
    ['{"prompt": "a", "trim_stop": "perhaps"}', 400],
    ['{"prompt": "a", "grammar": "root ::= ("}', 400],
  ])('body %s: is refused with a message', async (body, status) => {
    const answer = await client.call('POST', '/api/v1/generate', body);
    expect(answer.status).toBe(status);
    expect(answer.json()).toEqual({ detail: { msg: expect.stringMatching(/\w{3}/), type: 'bad_input' } });
  });
});

describe('native API: stream', () => {
  test('has the exact frames and the text of the whole reply', async () => {
    // The prompt is in the cache of both that are compared: rounding decides near ties.
    await client.generate({ prompt: story });
    const whole = await client.generate({ prompt: story });
    const { answer, frames } = await client.stream({ prompt: story });
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(answer.headers.get('x-accel-buffering')).toBe('no');
    const tokens = frames.slice(0, -1);
    const bytes = frames.map(
      ({ data: { token, finish_reason } }) =>
        `event: message\ndata: {"token": ${JSON.stringify(token)}, "finish_reason": ${JSON.stringify(finish_reason)}}\n\n`,
    );
    expect(answer.text).toBe(bytes.join(''));
    expect(tokens.map(({ data }) => data.token).join('')).toBe(whole.text);
    expect(tokens.every(({ data }) => data.finish_reason === null && data.token !== '')).toBe(true);
    expect(frames.at(-1)?.data).toEqual({ token: '', finish_reason: 'length' });
  });

  test('ends with `stop` at a stop text, and never shows a part of it', async () => {
    const { frames } = await client.stream({ prompt: story, max_length: 60, stop_sequence: ['little girl named'] });
    const text = frames.map(({ data }) => data.token).join('');
    expect(text).toBe(', there was a ');
    expect(frames.at(-1)?.data.finish_reason).toBe('stop');
  });

  test('a refusal is a plain reply, not a stream', async () => {
    const answer = await client.post('/api/extra/generate/stream', { prompt: story, grammar: 'nonsense ::=' });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/json');
  });
});

describe('native API: stop texts, bans and grammars', () => {
  test('a stop text is cut off, or stays with trim_stop off', async () => {
    const request = { prompt: story, max_length: 60, stop_sequence: ['never this', 'girl'] };
    const trimmed = await client.generate(request);
    const untrimmed = await client.generate({ ...request, trim_stop: false });
    expect([trimmed.finish_reason, untrimmed.finish_reason]).toEqual(['stop', 'stop']);
    expect(trimmed.text).toBe(', there was a little ');
    expect(untrimmed.text).toBe(', there was a little girl');
    expect((await client.performance()).stop_reason).toBe(2);
  });

  test('banned words and phrases do not appear, and the text continues', async () => {
    const free = await client.generate({ prompt: story, max_length: 60 });
    expect(free.text).toMatch(/little girl/);
    const banned = await client.generate({ prompt: story, max_length: 60, banned_tokens: ['little girl', ' Lily'] });
    expect(banned.text.toLowerCase()).not.toMatch(/little girl| lily/);
    expect(banned.text).toMatch(/^, there was a/);
    expect(banned.finish_reason).toBe('length');
  });

  test('logit bias: a token with a large negative bias is not chosen', async () => {
    const { ids } = (await client.post('/api/extra/tokencount', { prompt: ', there was', special: false })).json() as {
      ids: number[];
    };
    const { text } = await client.generate({ prompt: story, logit_bias: { [String(ids[0])]: -100 } });
    expect(text).not.toMatch(/^,/);
  });

  test('grammar: the reply matches it', async () => {
    const grammar = 'root ::= "yes" | "no" [0-9] [0-9]';
    const { text, finish_reason } = await client.generate({ prompt: story, grammar, temperature: 1 });
    expect(text).toMatch(/^(yes|no\d\d)$/);
    expect(finish_reason).toBe('stop');
  });

  test('grammar_retain_state: continues, also after backtracking', async () => {
    const line = 'one, two, three, six\n';
    const grammar = 'root ::= "one, " ("two, three" | "four, five") ", six"';
    const retained = { temperature: 0, grammar, grammar_retain_state: true };
    const first = await client.generate({ ...retained, prompt: line + line, max_length: 2 });
    expect(first.text).toBe('one,');
    const banned = { banned_tokens: ['two, three'], max_length: 20 };
    const second = await client.generate({ ...retained, ...banned, prompt: `${line}${line}one,` });
    expect(second.text).toBe(' four, five, six');
  });

  test.each([1, 2, 3])('a JSON schema forces a value that fits it (seed %i)', async (sampler_seed) => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string', maxLength: 12 }, age: { type: 'integer', minimum: 0, maximum: 120 } },
      required: ['name', 'age'],
      additionalProperties: false,
    };
    const request = { prompt: 'A person:', temperature: 1, sampler_seed, max_length: 120 };
    // The prompt is in the cache of both that are compared.
    await client.generate({ ...request, max_length: 1 });
    const { text } = await client.generate({ ...request, grammar: JSON.stringify(schema) });
    const value = JSON.parse(text);
    expect(Object.keys(value)).toEqual(['name', 'age']);
    expect(value.age).toBeLessThanOrEqual(120);
    const made = (await client.post('/api/extra/json_to_grammar', { schema })).json() as { result: string };
    expect((await client.generate({ ...request, grammar: made.result })).text).toBe(text);
  });
});

describe('native API: prompts', () => {
  test('overlong prompt: loses its beginning, keeps memory, and reports it', async () => {
    const prompt = 'The red dog ran to the old tree. '.repeat(400) + story;
    const request = { prompt, memory: 'A tale.\n', max_length: 8, max_context_length: 512 };
    const { warnings, prompt_tokens, text } = await client.generate(request);
    expect(warnings).toEqual([expect.stringMatching(/^\d+ tokens .* dropped/)]);
    expect(prompt_tokens).toBeLessThanOrEqual(512 - 8);
    expect(prompt_tokens).toBeGreaterThan(490);
    expect(text).not.toBe('');
    await expect.poll(() => server.output()).toMatch(/\[\d+ tokens at the beginning of the prompt did not fit/);
  });

  test('memory goes in front of the prompt', async () => {
    const whole = { prompt: 'Tom had a red ball.\nTom' };
    // The prompt is in the cache of both that are compared.
    await client.generate(whole);
    const apart = await client.generate({ memory: 'Tom had a red ball.\n', prompt: 'Tom' });
    const together = await client.generate(whole);
    expect(apart.text).toBe(together.text);
    expect(apart.prompt_tokens).toBe(together.prompt_tokens);
  });

  test('max_context_length: a smaller context is honoured', async () => {
    const prompt = 'The dog ran. '.repeat(100);
    const { prompt_tokens, warnings } = await client.generate({ prompt, max_context_length: 64, max_length: 8 });
    expect(prompt_tokens).toBe(56);
    expect(warnings).toHaveLength(1);
  });

  test('empty prompt: is continued', async () => {
    expect((await client.generate({ prompt: '', max_length: 4 })).completion_tokens).toBeGreaterThan(0);
  });
});

describe('native API: logprobs', () => {
  test('are in the reply and at last_logprobs', async () => {
    const { logprobs, completion_tokens, text } = await client.generate({
      prompt: story,
      logprobs: true,
      genkey: 'KCPP7',
      temperature: 1,
    });
    expect(logprobs?.content).toHaveLength(completion_tokens);
    expect(logprobs?.tokens.join('')).toBe(text);
    for (const entry of logprobs?.content ?? []) {
      expect(entry.logprob).toBeLessThanOrEqual(0);
      expect(entry.logprob).toBeGreaterThan(-9.2104);
      expect((entry.top_logprobs as unknown[]).length).toBeLessThanOrEqual(10);
    }
    const later = await client.post('/api/extra/last_logprobs', { genkey: 'KCPP7' });
    expect(later.json()).toEqual({ logprobs });
    expect((await client.post('/api/extra/last_logprobs', { genkey: 'other' })).json()).toEqual({ logprobs: null });
  });
});

describe('native API: tokens', () => {
  test.each(['Hello there, world!', 'Grüße aus Köln — 日本語 🙂', '  spaces\n\n and\ttabs ', ''])(
    'round trip of %j gives the same text',
    async (prompt) => {
      const counted = (await client.post('/api/extra/tokencount', { prompt, special: false })).json() as {
        value: number;
        ids: number[];
        prompt: string;
      };
      expect([counted.value, counted.prompt]).toEqual([counted.ids.length, prompt]);
      const joined = await client.post('/api/extra/detokenize', { ids: counted.ids, special: false });
      expect(joined.json()).toEqual({ result: prompt, success: true });
    },
  );

  test('invalid input: refused in the form of each endpoint', async () => {
    const refused = async (path: string, body: string) => {
      const answer = await client.call('POST', path, body);
      return [answer.status, answer.json()];
    };
    expect(await refused('/api/extra/tokencount', '{')).toEqual([400, { value: -1 }]);
    expect(await refused('/api/extra/detokenize', '{"ids": "x"}')).toEqual([400, { result: '', success: false }]);
    expect(await refused('/api/extra/json_to_grammar', 'x')).toEqual([400, { result: '', success: false }]);
  });

  test('are counted during a generation', async () => {
    const running = openRequest(server.base, '/api/extra/generate/stream', { ...long, genkey: 'busy' });
    await running.begun;
    const counted = await client.post('/api/extra/tokencount', { prompt: 'Hello there world' });
    expect((counted.json() as { value: number }).value).toBe(3);
    expect((await client.performance()).idle).toBe(0);
    running.hangUp();
    await client.performanceWhere(({ idle }) => idle === 1);
  });
});

describe('native API: check and abort', () => {
  test('check returns the text so far by key; abort ends the reply with it', async () => {
    const reply = client.generate({ ...long, genkey: 'KCPP42' });
    let early = '';
    while (early.length < 20) early = await client.check('KCPP42');
    expect(await client.check()).toBe('');
    expect(await client.check('KCPP43')).toBe('');
    const stopped = await client.post('/api/extra/abort', { genkey: 'KCPP42' });
    expect(stopped.json()).toEqual({ success: 'true', done: 'true' });
    const { text, finish_reason, completion_tokens } = await reply;
    expect(text.startsWith(early)).toBe(true);
    expect(finish_reason).toBe('length');
    expect(completion_tokens).toBeLessThan(1600);
  });

  test('without a key: the only generation is returned and aborted', async () => {
    const reply = client.generate(long);
    let early = '';
    while (early.length < 5) early = await client.check();
    expect((await client.post('/api/extra/abort')).json()).toEqual({ success: 'true', done: 'true' });
    expect((await reply).completion_tokens).toBeLessThan(1600);
  });

  test('abort: a waiting request is stopped, others are not', async () => {
    const running = client.generate({ ...long, genkey: 'first' });
    await client.performanceWhere(({ idle }) => idle === 0);
    const waiting = client.generate({ prompt: story, genkey: 'second' });
    await client.performanceWhere(({ queue }) => queue === 1);
    const aborted = await client.post('/api/extra/abort', { genkey: 'second' });
    expect(aborted.json()).toEqual({ success: 'true', done: 'false' });
    expect(await waiting).toMatchObject({ text: '', finish_reason: 'length', prompt_tokens: 0, completion_tokens: 0 });
    expect((await client.performance()).idle).toBe(0);
    await client.post('/api/extra/abort', { genkey: 'first' });
    expect((await running).text.length).toBeGreaterThan(0);
  });

  test('abort: without a genkey the running generation is stopped while another waits', async () => {
    const running = client.generate({ ...long, genkey: 'first' });
    await client.performanceWhere(({ idle }) => idle === 0);
    const waiting = client.generate({ prompt: story, max_length: 3, genkey: 'second' });
    await client.performanceWhere(({ queue }) => queue === 1);
    expect((await client.post('/api/extra/abort')).json()).toEqual({ success: 'true', done: 'true' });
    expect((await running).completion_tokens).toBeLessThan(1600);
    expect((await waiting).completion_tokens).toBe(3);
  });

  test('abort: an unknown key is refused', async () => {
    const answer = await client.post('/api/extra/abort', { genkey: 'nobody' });
    expect(answer.json()).toEqual({ success: 'false', done: 'false' });
  });
});

describe('native API: perf figures', () => {
  test('of the last generation', async () => {
    await client.generate({ prompt: story, max_length: 10, sampler_seed: 5 });
    const figures = await client.performance();
    expect(figures).toMatchObject({ last_token_count: 10, last_seed: 5, stop_reason: 0, queue: 0, idle: 1 });
    expect(figures.last_eval_speed).toBeCloseTo(1000 / (figures.last_eval as number), 6);
    expect(figures.total_gens).toBeGreaterThan(10);
  });
});
