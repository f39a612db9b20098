import { beforeAll, describe, expect, test } from 'vitest';
import { Random } from '../../src/sampling/random.ts';
import { type NativeClient, nativeClient } from './client.ts';
import { loadReference, type Reference } from './reference.ts';
import { liveServers, type StartServer, untrainedServers } from './server.ts';

const startServer = liveServers();
const startUntrained = untrainedServers();
/**
 * The same text in other portions gives logits that differ in their last digits, and near ties fall differently then.
 * Token by token there is only one way to compute a text: what is equal must be exactly equal.
 */
const tokenByToken = ['--batchsize', '-1'];
/** Keeps what it computed for the next prompt. */
let keeping: NativeClient;
/** Computes every prompt from its first token. */
let fresh: NativeClient;
let reference: Reference;

beforeAll(async () => {
  [[keeping, fresh], reference] = await Promise.all([bothWays(startServer), loadReference()]);
});

async function bothWays(start: StartServer): Promise<[keeping: NativeClient, fresh: NativeClient]> {
  const [first, second] = await Promise.all([
    start(['--quiet', ...tokenByToken]),
    start(['--quiet', ...tokenByToken, '--nofastforward']),
  ]);
  return [nativeClient(first.base), nativeClient(second.base)];
}

describe('temperature 0', () => {
  test.each([
    'Once upon a time',
    '<|im_start|>user\nTell me about the sea.<|im_end|>\n<|im_start|>assistant\n',
    'The capital of France is',
    'Tom and Anna went to the park. They saw a big dog.\n\n"Look," said Anna,',
    '1, 2, 3, 4,',
    'Grüße aus 日本 🙂 und',
  ])('the reply to %j is that of the greedy sampler of llama.cpp, token for token', async (prompt) => {
    const expected = reference.greedy(prompt, 60);
    const ends = { ban_eos_token: false };
    const request = { prompt, max_length: 60, top_k: 40, top_p: 0.9, replace_instruct_placeholders: false, ...ends };
    expect((await fresh.generate(request)).text).toBe(expected.text);
    const { text, logprobs } = await keeping.generate({ ...request, logprobs: true });
    expect(text).toBe(expected.text);
    const ids = logprobs?.content.map(({ token_id }) => token_id) ?? [];
    expect(ids.slice(0, expected.tokens.length)).toEqual(expected.tokens);
  });
});

describe('prompt cache', () => {
  test('stays valid after backtracking', async () => {
    const prompt = 'Once upon a time';
    const banned = { prompt, max_length: 50, banned_tokens: ['little girl', 'was very', ' named Lily', 'play with'] };
    const [cached, anew] = await Promise.all([keeping.generate(banned), fresh.generate(banned)]);
    expect(cached.text.toLowerCase()).not.toMatch(/little girl|was very| named lily|play with/);
    expect(cached.text).toBe(anew.text);
    const longer = prompt + cached.text;
    const after = { prompt: longer, max_length: 30 };
    expect((await keeping.generate(after)).text).toBe((await fresh.generate(after)).text);
    const back = { prompt, max_length: 30 };
    expect((await keeping.generate(back)).text).toBe((await fresh.generate(back)).text);
  });
});

/** What an untrained model says depends on all that it has read, too. */
describe('prompt cache of an untrained model', () => {
  let keeping: NativeClient;
  let fresh: NativeClient;
  beforeAll(async () => {
    [keeping, fresh] = await bothWays(startUntrained);
  });

  test('edited prompt: gives the reply of a fresh computation', async () => {
    const random = new Random(7);
    const words =
      'Once upon a time there was a small grey cat who lived in a house by the sea with an old man and a very big dog'.split(
        ' ',
      );
    for (let round = 0; round < 12; round += 1) {
      const index = Math.floor(random.next() * words.length);
      const word = words[Math.floor(random.next() * words.length)] as string;
      // Changed, taken out, put in; the conversation goes on as well.
      if (round % 3 === 0) words[index] = `${word}s`;
      if (round % 3 === 1) words.splice(index, 1);
      if (round % 3 === 2) words.splice(index, 0, word, 'and', word);
      const prompt = words.join(' ');
      const request = { prompt, max_length: 16, ban_eos_token: true };
      const [cached, anew] = await Promise.all([keeping.generate(request), fresh.generate(request)]);
      expect(cached.text).toBe(anew.text);
      expect(cached.prompt_tokens).toBe(anew.prompt_tokens);
      if (round % 4 === 3) words.push(...cached.text.trim().split(' '));
    }
  });

  test('grown prompt: only the new tokens are computed', async () => {
    const prompt = 'The old man went down to the sea every day and looked at the waves. '.repeat(12);
    await keeping.generate({ prompt, max_length: 2 });
    await keeping.generate({ prompt: `${prompt}Then`, max_length: 2 });
    const computed = (figures: Record<string, number>) =>
      (figures.last_input_count ?? 0) - (figures.last_reused_count ?? 0);
    expect(computed(await keeping.performance())).toBeLessThan(12);
    await fresh.generate({ prompt: `${prompt}Then`, max_length: 2 });
    expect(computed(await fresh.performance())).toBeGreaterThan(100);
  });

  test('stays valid after an abort during prefill', async () => {
    const long = Array.from({ length: 600 }, (_, index) => ` ${(index * 7) % 10}`).join('');
    const stopped = keeping.generate({ prompt: long, genkey: 'stopped' });
    await keeping.performanceWhere(({ idle }) => idle === 0);
    await keeping.post('/api/extra/abort', { genkey: 'stopped' });
    await stopped;
    const prompt = long.slice(0, 300);
    const request = { prompt, max_length: 12, ban_eos_token: true };
    expect((await keeping.generate(request)).text).toBe((await fresh.generate(request)).text);
  });
});

describe('guidance', () => {
  test('negative prompt changes the text; scale 1 has no effect', async () => {
    const server = await startServer(['--quiet', '--enableguidance', ...tokenByToken]);
    const guided = nativeClient(server.base);
    const prompt = 'Once upon a time';
    const plain = await fresh.generate({ prompt, max_length: 30 });
    const reply = async (fields: object) => (await guided.generate({ prompt, max_length: 30, ...fields })).text;
    expect(await reply({})).toBe(plain.text);
    expect(await reply({ negative_prompt: 'A girl named Lily.', guidance_scale: 1 })).toBe(plain.text);
    const away = await reply({ negative_prompt: 'A girl named Lily.', guidance_scale: 3 });
    expect(away).not.toBe(plain.text);
    expect(await reply({ negative_prompt: 'A girl named Lily.', guidance_scale: 3 })).toBe(away);
    expect(await reply({})).toBe(plain.text);
    await server.stop();
  });

  test('works with any lengths of prompt and negative prompt', async () => {
    const server = await startUntrained(['--quiet', '--enableguidance', '--batchsize', '128']);
    const guided = nativeClient(server.base);
    const [short, long] = ['Once upon a time', 'The dog ran to the tree. '.repeat(20)];
    for (const [prompt, negative_prompt] of [
      [short, long],
      [long, short],
      [`Once ${long}`, long],
    ]) {
      const request = { prompt, negative_prompt, guidance_scale: 2, max_length: 6, ban_eos_token: true };
      // The second time most of the prompt is in the cache, and nothing of the other one.
      for (let round = 0; round < 2; round += 1) expect((await guided.generate(request)).completion_tokens).toBe(6);
    }
    await server.stop();
  });

  test('without --enableguidance: is refused', async () => {
    const answer = await keeping.post('/api/v1/generate', { prompt: 'a', negative_prompt: 'b', guidance_scale: 2 });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('--enableguidance');
  });
});
