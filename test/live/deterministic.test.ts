import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeHybridModel, writeRecurrentModel, writeWindowModel } from '../models/memories.ts';
import { nativeClient, neverEnding, openRequest } from './client.ts';
import { embeddedModel, type LiveServer, liveServers } from './server.ts';

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-deterministic-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Chats that begin alike, so that they share cells, and are then of all lengths between the borders of portions. */
const opening = Array.from({ length: 18 }, (_, line) => `Rule ${line}: a story has ${line + 3} words and a cat.`).join(
  ' ',
);
const allChats = [
  { begin: `${opening} Once upon a time`, fields: { temperature: 0 } },
  { begin: `${opening} One day a girl`, fields: { temperature: 0.9, sampler_seed: 42, top_k: 30 } },
  { begin: 'The king had a map.', fields: { temperature: 0.8, sampler_seed: 7, rep_pen: 1.2 } },
  {
    begin: `${opening.slice(0, 300)} But`,
    fields: { temperature: 1.1, sampler_seed: 99, banned_tokens: ['said', 'the'] },
  },
];
const turnLength = 32;
const news = ['\nThen a stranger came and asked:', '\nAnd nobody knew', ''];

type Chat = (typeof allChats)[number];

/** All the turns of a chat, each prompt holding the replies before it; the cache may serve all but the first. */
async function talk(base: string, { begin, fields }: Chat, turns = news): Promise<{ texts: string[]; prompt: string }> {
  const { generate } = nativeClient(base);
  const texts: string[] = [];
  let prompt = begin;
  for (const more of turns) {
    const { text } = await generate({ ...fields, prompt, max_length: turnLength, ban_eos_token: true });
    texts.push(text);
    prompt += text + more;
  }
  return { texts, prompt };
}

interface CacheFigures {
  readonly slots: readonly { readonly tokens: number }[];
  readonly disk: { readonly snapshots: number } | null;
}

const cache = async (base: string) => (await fetch(`${base}/api/extra/cache`)).json() as Promise<CacheFigures>;

async function cachedTokens(base: string, prompt: string): Promise<number> {
  const body = JSON.stringify({ prompt, max_tokens: 1, temperature: 0 });
  const reply = await fetch(`${base}/v1/completions`, { method: 'POST', body });
  const { usage } = (await reply.json()) as { usage: { prompt_tokens_details: { cached_tokens: number } } };
  return usage.prompt_tokens_details.cached_tokens;
}

describe.each([
  ['embedded', undefined],
  ['window', writeWindowModel],
  ['hybrid', writeHybridModel],
  ['recurrent', writeRecurrentModel],
])('with --deterministic the %s model', (name, write) => {
  const model = write ? join(folder, `${name}.gguf`) : embeddedModel;
  const flags = ['--deterministic', '--model', model, '--contextsize', '2048', '--multiuser', '16', '--quiet'];
  const alone: string[][] = [];
  // The small models differ in what they remember, not in how they sample.
  const chats = allChats.filter((_, index) => !write || index !== 2);
  beforeAll(async () => {
    if (write) await write(model, embeddedModel);
    const fresh = await start([...flags, '--nofastforward']);
    for (const chat of chats) alone.push((await talk(fresh.base, chat)).texts);
    await fresh.stop();
  });

  test('same text with and without the cache', async () => {
    const { base, stop } = await start(flags);
    for (const [index, chat] of chats.entries()) {
      const { texts, prompt } = await talk(base, chat);
      expect(texts).toEqual(alone[index]);
      // Of the last prompt all whole portions are there, and nothing of its reply.
      const [{ tokens } = { tokens: 0 }] = (await cache(base)).slots;
      expect(tokens % 64).toBe(0);
      expect(tokens).toBeGreaterThan(0);
      expect(await cachedTokens(base, prompt)).toBe(tokens);
    }
    await stop();
  });

  test('same text alone and in a batch, with and without drafts', async () => {
    const company = ['--parallelrequests', '3', '--batchall', '--smartcache', '--draftngram', '2'];
    const { base, output, stop } = await start([...flags, ...company, '--draftmodel', embeddedModel]);
    await expect.poll(() => output()).toContain('With --deterministic nothing is drafted');
    // When a client disconnects in the middle of a batch, it is computed again for the others.
    const rude = openRequest(base, '/api/extra/generate/stream', { prompt: opening, max_length: 400, ...neverEnding });
    const all = Promise.all(chats.map((chat) => talk(base, chat)));
    await rude.begun;
    rude.hangUp();
    expect((await all).map(({ texts }) => texts)).toEqual(alone);
    await stop();
  });

  test('same text after a restart with --diskcache', async () => {
    const disk = ['--diskcache', join(folder, `${name}-disk`)];
    const [chat] = chats as [Chat];
    const first = await start([...flags, ...disk]);
    const { prompt } = await talk(first.base, chat, news.slice(0, 2));
    await first.stop();
    const second = await start([...flags, ...disk]);
    expect((await cache(second.base)).disk?.snapshots).toBe(name === 'window' ? 0 : 1);
    expect(second.output().includes('no smart or disk cache')).toBe(name === 'window');
    const { texts } = await talk(second.base, { ...chat, begin: prompt }, ['']);
    expect(texts).toEqual(alone[0]?.slice(2));
    expect((await cache(second.base)).slots[0]?.tokens).toBeGreaterThanOrEqual(256);
    await second.stop();
    // What was computed otherwise is of no use here, and neither is this to others.
    const batched = await start([...flags.slice(1), ...disk]);
    expect((await cache(batched.base)).disk?.snapshots).toBe(0);
    await batched.stop();
  });
});

describe('with --deterministic', () => {
  let server: LiveServer;
  beforeAll(async () => {
    const flags = ['--deterministic', '--contextsize', '1024', '--enableguidance', '--multiuser', '8', '--quiet'];
    server = await start([...flags, '--parallelrequests', '2', '--batchall']);
  });

  test('guidance gives the same text every time', async () => {
    const { generate } = nativeClient(server.base);
    const guided = { negative_prompt: 'A sad story about a dog.', guidance_scale: 1.6, max_length: 40 };
    const requests = [100, 620].map((length) => ({ ...guided, prompt: opening.slice(0, length) }));
    const once: string[] = [];
    for (const request of requests) once.push((await generate(request)).text);
    const plain = { prompt: `${opening} Once`, max_length: 60 };
    const [, ...again] = await Promise.all([plain, ...requests].map((request) => generate(request)));
    expect(again.map(({ text }) => text)).toEqual(once);
    expect(once[0]).not.toBe((await generate({ ...requests[0], guidance_scale: 1 })).text);
  });

  test.each([63, 64, 65, 128, 129])('a prompt of %i tokens gives the same text again', async (length) => {
    const prompt = Array.from({ length }, () => ' cat').join('');
    const body = { prompt, max_tokens: 24, temperature: 1, seed: 11 };
    const ask = async () => {
      const reply = await fetch(`${server.base}/v1/completions`, { method: 'POST', body: JSON.stringify(body) });
      return (await reply.json()) as { choices: [{ text: string }]; usage: { prompt_tokens: number } };
    };
    const [first, second] = [await ask(), await ask()];
    expect(first.usage.prompt_tokens).toBe(length);
    expect(second.choices[0].text).toBe(first.choices[0].text);
  });
});
