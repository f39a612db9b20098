import { beforeAll, describe, expect, test } from 'vitest';
import { knownContinuation, knownTokens, opening } from '../sdk/questions.ts';
import { neverEnding } from './client.ts';
import { nearTie } from './near-tie.ts';
import { liveServers } from './server.ts';

const start = liveServers();
const story = 'Once upon a time there was a little fox. The fox lived near a river, and it was happy.';

interface Figures {
  readonly tokens: readonly string[];
  readonly token_ids: readonly number[];
  readonly token_logprobs: readonly (number | null)[];
  readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[];
  readonly text_offset: readonly number[];
}

type PromptFigures = readonly (Readonly<
  Record<string, { logprob: number; rank: number; decoded_token: string }>
> | null)[];

interface Choice {
  readonly index: number;
  readonly text: string;
  readonly finish_reason: string;
  readonly logprobs: Figures;
  readonly prompt_logprobs: PromptFigures;
}

interface Completion {
  readonly choices: readonly Choice[];
  readonly usage: {
    prompt_tokens: number;
    completion_tokens: number;
    prompt_tokens_details: { cached_tokens: number };
  };
}

async function complete(base: string, body: object): Promise<Completion> {
  const reply = await fetch(`${base}/v1/completions`, { method: 'POST', body: JSON.stringify(body) });
  const text = await reply.text();
  if (reply.status !== 200) throw new Error(`${reply.status}: ${text}`);
  return JSON.parse(text) as Completion;
}

const score = async (base: string, prompt: unknown, more: object = {}) => {
  const { choices, usage } = await complete(base, { prompt, echo: true, max_tokens: 0, logprobs: 5, ...more });
  return { ...(choices[0] as Choice), usage };
};

/** Distributions as the model gives them. */
const neutral = { temperature: 1, top_k: 0, top_p: 1, min_p: 0, rep_pen: 1 };
const total = (list: readonly (number | null)[]) => list.reduce<number>((sum, one) => sum + (one ?? 0), 0);
/** Attention over few rows takes another way through the library than over many, with another rounding. */
const rounding = 0.15;

describe('prompt logprobs', () => {
  let base = '';
  beforeAll(async () => {
    ({ base } = await start(['--parallelrequests', '3']));
  });

  test('equal the logprobs of step-by-step generation', async () => {
    const { logprobs } = await score(base, story);
    const { token_ids: ids, token_logprobs: figures } = logprobs;
    expect(figures[0]).toBeNull();
    const differences: number[] = [];
    for (let length = 1; length < ids.length; length += 1) {
      const prompt = (await tokenize(base, '')).concat(ids.slice(0, length));
      const { choices } = await complete(base, {
        prompt,
        max_tokens: 1,
        logprobs: 20,
        cache_prompt: false,
        ...neutral,
      });
      const likely = choices[0]?.logprobs.top_logprobs[0] ?? {};
      const truth = likely[logprobs.tokens[length] as string];
      // The figures of replies end at one in ten thousand.
      if (truth === undefined || truth < -9) continue;
      differences.push((figures[length] as number) - truth);
    }
    expect(differences.length).toBeGreaterThan(ids.length / 2);
    expect(Math.max(...differences.map(Math.abs))).toBeLessThan(rounding);
    expect(Math.abs(total(differences))).toBeLessThan(rounding);
  });

  test('greedy text has the highest logprob at every position', async () => {
    const prompt = await tokenize(base, opening);
    const { choices } = await complete(base, { prompt, max_tokens: 24, temperature: 0, logprobs: 0 });
    const written = choices[0]?.logprobs.token_ids ?? [];
    const scored = await complete(base, { prompt: [...prompt, ...written], max_tokens: 0, prompt_logprobs: 1 });
    const figures = scored.choices[0]?.prompt_logprobs ?? [];
    expect(figures).toHaveLength(prompt.length + written.length);
    for (const [index, token] of written.entries()) {
      const row = figures[prompt.length + index] ?? {};
      const best = Math.max(...Object.values(row).map(({ logprob }) => logprob));
      expect(best - (row[token]?.logprob ?? Number.NaN), `${row[token]?.decoded_token}`).toBeLessThan(nearTie);
    }
  });

  test('the known continuation is no near tie at any token', async () => {
    const prompt = await tokenize(base, opening);
    const request = { prompt, max_tokens: knownTokens, temperature: 0, logprobs: 0, ...neverEnding };
    const [reply] = (await complete(base, request)).choices;
    expect(reply?.text).toBe(knownContinuation);
    const written = reply?.logprobs.token_ids ?? [];
    const scored = await complete(base, { prompt: [...prompt, ...written], max_tokens: 0, prompt_logprobs: 2 });
    for (const row of scored.choices[0]?.prompt_logprobs.slice(prompt.length) ?? []) {
      const [first, second] = Object.values(row ?? {}).sort((one, other) => other.logprob - one.logprob);
      const lead = (first?.logprob ?? Number.NaN) - (second?.logprob ?? Number.NaN);
      expect(lead, `${first?.decoded_token} before ${second?.decoded_token}`).toBeGreaterThan(nearTie);
    }
  });

  test('tokens, offsets and text are consistent', async () => {
    const { text, logprobs, usage, finish_reason } = await score(base, story);
    expect([text, finish_reason, usage.completion_tokens]).toEqual([story, 'length', 0]);
    expect(logprobs.tokens.join('')).toBe(story);
    for (const [index, token] of logprobs.tokens.entries()) {
      const offset = logprobs.text_offset[index] as number;
      expect([...story].slice(offset, offset + token.length).join('')).toBe(token);
    }
    const { length } = logprobs.tokens;
    const lists = [logprobs.token_logprobs, logprobs.top_logprobs, logprobs.text_offset, logprobs.token_ids];
    expect(lists.map((list) => list.length)).toEqual([length, length, length, length]);
    expect(logprobs.top_logprobs[0]).toBeNull();
    for (const [index, top] of logprobs.top_logprobs.slice(1).entries()) {
      expect(top?.[logprobs.tokens[index + 1] as string]).toBe(logprobs.token_logprobs[index + 1]);
    }
  });

  test('offsets count characters, also of characters in several tokens', async () => {
    const text = 'Zoë 😀 says "né".';
    const { logprobs } = await score(base, text);
    expect(logprobs.text_offset[0]).toBe(0);
    const last = [logprobs.text_offset.at(-1), logprobs.tokens.at(-1)];
    expect(last).toEqual([[...text].length - 2, '".']);
    const spelled = logprobs.tokens.map((token) =>
      token.startsWith('bytes:') ? Buffer.from(token.slice(6).replaceAll('\\x', ''), 'hex') : Buffer.from(token),
    );
    expect(Buffer.concat(spelled).toString()).toBe(text);
  });

  test('include the reply after the prompt', async () => {
    const silent = await score(base, story);
    const scored = await score(base, story, { max_tokens: 4, temperature: 0 });
    const { length } = silent.logprobs.tokens;
    expect(scored.text.startsWith(story)).toBe(true);
    expect(scored.logprobs.tokens.join('')).toBe(scored.text);
    expect(scored.logprobs.tokens.slice(0, length)).toEqual(silent.logprobs.tokens);
    expect(total(scored.logprobs.token_logprobs.slice(0, length))).toBeCloseTo(
      total(silent.logprobs.token_logprobs),
      1,
    );
    expect(scored.usage.completion_tokens).toBeGreaterThan(0);
  });

  test('do not depend on the cache', async () => {
    await complete(base, { prompt: story, max_tokens: 4 });
    const first = await score(base, story);
    const again = await score(base, story);
    expect(again.usage.prompt_tokens_details.cached_tokens).toBe(0);
    expect(again.logprobs).toEqual(first.logprobs);
    const after = await complete(base, { prompt: story, max_tokens: 1 });
    expect(after.usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(0);
  });

  test('do not depend on the samplers', async () => {
    const plain = await score(base, story);
    const bent = await score(base, story, { temperature: 0.1, top_k: 1, rep_pen: 1.5, logit_bias: { '42': 100 } });
    expect(bent.logprobs.token_logprobs).toEqual(plain.logprobs.token_logprobs);
  });

  test('token ids as a prompt are used unchanged', async () => {
    const ids = await tokenize(base, story);
    const text = await score(base, story);
    const tokens = await score(base, ids);
    expect(tokens.logprobs.token_ids).toEqual(ids);
    expect(text.logprobs.token_ids).toEqual(ids.slice(-text.logprobs.token_ids.length));
    const odd = [...ids.slice(0, 3), ids[2], ids[2], ...ids.slice(3)];
    expect((await score(base, odd)).logprobs.token_ids).toEqual(odd);
  });

  test('several prompts have their own logprobs', async () => {
    const other = 'The sun was warm.';
    const alone = [await score(base, story), await score(base, other)];
    const { choices, usage } = await complete(base, {
      prompt: [story, other],
      echo: true,
      max_tokens: 1,
      logprobs: 1,
      temperature: 0,
    });
    for (const [index, choice] of choices.entries()) {
      const own = alone[index]?.logprobs.token_logprobs ?? [];
      expect(choice.logprobs.tokens).toHaveLength(own.length + 1);
      for (const [place, figure] of own.entries()) {
        expect(choice.logprobs.token_logprobs[place] ?? 0).toBeCloseTo(figure ?? 0, 1);
      }
    }
    expect(usage.prompt_tokens).toBe(alone.reduce((sum, one) => sum + one.usage.prompt_tokens, 0));
  });

  test('are the same beside running streams', async () => {
    const long = Array.from({ length: 40 }, (_, line) => `Line ${line}: the fox saw ${line} birds.`).join('\n');
    const alone = await score(base, long);
    const otherStream = complete(base, { prompt: 'The fox', max_tokens: 60, ...neverEnding });
    const scored = await score(base, long);
    await otherStream;
    expect(scored.logprobs.tokens).toEqual(alone.logprobs.tokens);
    expect(Math.abs(total(scored.logprobs.token_logprobs) - total(alone.logprobs.token_logprobs))).toBeLessThan(1);
  });

  test('stream: come as one chunk before the reply', async () => {
    const whole = await score(base, story, { logprobs: 2 });
    const reply = await fetch(`${base}/v1/completions`, {
      method: 'POST',
      body: JSON.stringify({ prompt: story, echo: true, max_tokens: 3, logprobs: 2, temperature: 0, stream: true }),
    });
    const frames = (await reply.text())
      .split('\n\n')
      .filter((frame) => frame.startsWith('data: {'))
      .map((frame) => JSON.parse(frame.slice(6)) as Completion);
    const [first, ...rest] = frames.map(({ choices }) => choices[0] as Choice);
    expect([first?.text, first?.logprobs]).toEqual([story, { ...whole.logprobs, content: [] }]);
    expect(rest[0]?.logprobs.text_offset[0]).toBe([...story].length);
  });

  test('chat: prompt_logprobs is supported', async () => {
    const reply = await fetch(`${base}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1, prompt_logprobs: 2 }),
    });
    const { prompt_logprobs: figures, usage } = (await reply.json()) as Completion & { prompt_logprobs: PromptFigures };
    expect(figures).toHaveLength(usage.prompt_tokens);
    expect(figures[0]).toBeNull();
    expect(Object.values(figures[1] ?? {}).length).toBeGreaterThanOrEqual(2);
  });

  test('an overlong prompt is refused, not shortened', async () => {
    const text = 'word '.repeat(20_000);
    await expect(complete(base, { prompt: text, echo: true, max_tokens: 0, logprobs: 0 })).rejects.toThrow('400');
  });

  test('disconnect: stops the scoring, and the next request is served', async () => {
    const text = Array.from({ length: 900 }, (_, number) => `word${number}`).join(' ');
    const controller = new AbortController();
    const cancelled = fetch(`${base}/v1/completions`, {
      method: 'POST',
      body: JSON.stringify({ prompt: text.slice(0, 4000), echo: true, max_tokens: 0, logprobs: 0 }),
      signal: controller.signal,
    });
    controller.abort();
    await expect(cancelled).rejects.toThrow();
    expect((await score(base, 'The sun')).text).toBe('The sun');
  });
});

async function tokenize(base: string, content: string): Promise<number[]> {
  const body = JSON.stringify({ prompt: content, special: true });
  const reply = await fetch(`${base}/api/extra/tokencount`, { method: 'POST', body });
  return ((await reply.json()) as { ids: number[] }).ids;
}
