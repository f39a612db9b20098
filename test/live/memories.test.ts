import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Random } from '../../src/sampling/random.ts';
import { writeHybridModel, writeRecurrentModel, writeWindowModel } from '../models/memories.ts';
import { embeddedModel, type LiveServer, liveServers } from './server.ts';

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-memories-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const words = 'the tree house runs over seven green hills while old ships sing about rain and bread'.split(' ');

function nonsense(seed: number, count: number): string[] {
  const random = new Random(seed);
  return Array.from({ length: count }, () => words[Math.floor(random.next() * words.length)] as string);
}

/** The prompt with one word changed, that many words before its end. */
const edited = (prompt: readonly string[], distance: number) => prompt.with(-distance, 'moonlight');

async function post<Reply>(base: string, path: string, body: object): Promise<Reply> {
  const reply = await fetch(`${base}${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(await reply.text());
  return (await reply.json()) as Reply;
}

async function complete(base: string, prompt: readonly string[], extra: object = {}) {
  const { choices, usage } = await post<{
    choices: [{ text: string; logprobs: { tokens: string[]; token_logprobs: number[] } }];
    usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
  }>(base, '/v1/completions', { prompt: prompt.join(' '), max_tokens: 8, temperature: 0, logprobs: 1, ...extra });
  const [{ text, logprobs }] = choices;
  const { prompt_tokens: all, prompt_tokens_details: details } = usage;
  return { text, tokens: logprobs.tokens, logprobs: logprobs.token_logprobs, all, cached: details.cached_tokens };
}

/** How far a logprob moves where other kernels compute several rows than one: 0.04 was measured. */
const movement = 0.1;

/** With chance in it, the logprobs show more than the text does: they depend on all that was read. */
const sampled = { temperature: 1, top_p: 1, min_p: 0, seed: 5, logprobs: 1 };

type Reply = Awaited<ReturnType<typeof complete>>;

function expectClose(answer: Reply, expected: Reply): void {
  expect(answer.logprobs).toHaveLength(expected.logprobs.length);
  for (const [index, value] of expected.logprobs.entries()) {
    expect(Math.abs((answer.logprobs[index] as number) - value)).toBeLessThan(movement);
  }
}

/** Greedy texts may part only where the best tokens of both are as good as tied. */
function expectSameText(answer: Reply, expected: Reply): void {
  const parting = expected.tokens.findIndex((token, index) => token !== answer.tokens[index]);
  if (parting < 0) expect(answer.text).toBe(expected.text);
  const upTo = parting < 0 ? expected.tokens.length : parting + 1;
  expectClose(
    ...([answer, expected].map((one) => ({ ...one, logprobs: one.logprobs.slice(0, upTo) })) as [Reply, Reply]),
  );
}

async function expectSame(actual: string, fresh: string, prompt: readonly string[]): Promise<number> {
  const [answer, expected] = await Promise.all([actual, fresh].map((base) => complete(base, prompt, sampled)));
  expectClose(answer as Reply, expected as Reply);
  // The same prompt again: only its last token is computed.
  const [again, greedy] = (await Promise.all([actual, fresh].map((base) => complete(base, prompt)))) as [Reply, Reply];
  expectSameText(again, greedy);
  expect(again.cached).toBe(prompt.length - 1);
  return answer?.cached ?? -1;
}

describe.each([
  ['window', writeWindowModel],
  ['hybrid', writeHybridModel],
  ['recurrent', writeRecurrentModel],
])('a %s model', (name, write) => {
  const model = join(folder, `${name}.gguf`);
  // Small batches, so that the window is soon left behind; and attention that rounds the same in batches of any size.
  const flags = ['--model', model, '--batchsize', '64', '--contextsize', '2048', '--noflashattention'];
  const two = ['--parallelrequests', '2', '--batchall', '--multiuser', '8'];
  let fresh: LiveServer;
  let reusing: LiveServer;
  beforeAll(async () => {
    await write(model, embeddedModel);
    [fresh, reusing] = await Promise.all([start([...flags, '--nofastforward']), start([...flags, ...two])]);
  });
  afterAll(() => Promise.all([fresh.stop(), reusing.stop()]));

  test('edited prompt: gives the reply of a fresh computation and reuses a part', async () => {
    let prompt = nonsense(1, 500);
    expect(await expectSame(reusing.base, fresh.base, prompt)).toBe(0);
    for (const [distance, minCached] of [
      [3, 435],
      [90, 243],
      [30, 435],
      [260, 0],
    ] as const) {
      prompt = edited(prompt, distance);
      const cached = await expectSame(reusing.base, fresh.base, prompt);
      expect(cached).toBeGreaterThanOrEqual(minCached);
      expect(cached).toBeLessThanOrEqual(500 - distance);
    }
    const report = (await (await fetch(`${reusing.base}/api/extra/cache`)).json()) as {
      slots: { checkpoints: { count: number; bytes: number } }[];
      misses: { reused_tokens: number }[];
    };
    expect(report.slots[0]?.checkpoints.count).toBeGreaterThan(1);
    expect(report.slots[0]?.checkpoints.bytes).toBeGreaterThan(100);
    expect(report.misses.map(({ reused_tokens: tokens }) => tokens).slice(0, 2)).toEqual(
      name === 'window' ? [497, 410] : [435, 243],
    );
  });

  test('continues its own reply', async () => {
    const prompt = nonsense(2, 300);
    const first = await complete(reusing.base, prompt, { max_tokens: 40 });
    const next = [...prompt.slice(0, -1), `${prompt.at(-1)}${first.text}`, ...nonsense(3, 30)];
    const [answer, expected] = [await complete(reusing.base, next), await complete(fresh.base, next)];
    expectSameText(answer, expected);
    expect(answer.cached).toBeGreaterThan(280);
  });

  test('banned phrases: backtracks', async () => {
    const ask = (base: string, bans: readonly string[]) =>
      post<{ results: [{ text: string }] }>(base, '/api/v1/generate', {
        prompt: nonsense(4, 200).join(' '),
        max_length: 24,
        temperature: 0,
        rep_pen: 1,
        banned_tokens: bans,
      }).then(({ results: [{ text }] }) => text);
    const plain = await ask(reusing.base, []);
    const banned = plain.slice(8, 26);
    const answer = await ask(reusing.base, [banned]);
    expect(plain).toContain(banned);
    expect(answer).not.toContain(banned);
    expect(answer).toBe(await ask(fresh.base, [banned]));
  });

  test('two parallel requests give the same texts as alone and share a prefix', async () => {
    const { base } = reusing;
    let [one, other] = [nonsense(5, 500), nonsense(6, 350)];
    for (const distance of [2, 20, 100]) {
      [one, other] = [edited(one, distance), edited(other, distance + 50)];
      const both = await Promise.all([one, other].map((prompt) => complete(base, prompt)));
      const alone = [await complete(fresh.base, one), await complete(fresh.base, other)];
      for (const [index, reply] of both.entries()) expectSameText(reply, alone[index] as Reply);
    }
    await complete(base, one);
    const side = [...one.slice(0, 245), ...nonsense(7, 40)];
    const answer = await complete(base, side);
    expectSameText(answer, await complete(fresh.base, side));
    expect(answer.cached).toBeGreaterThan(240);
    const again = await complete(base, one);
    expectSameText(again, await complete(fresh.base, one));
    expect(again.cached).toBe(again.all - 1);
  });

  test('shared cells: parallel requests give the same texts as alone, also if they have to wait for cells', async () => {
    // Two of these prompts fit into 2048 cells, and not three.
    const { base, stop } = await start([...flags, '--parallelrequests', '3', '--batchall', '--kvpool', '2048']);
    const prompts = [10, 11, 12].map((seed) => nonsense(seed, 900));
    const replies = await Promise.all(prompts.map((prompt) => complete(base, prompt)));
    for (const [index, prompt] of prompts.entries()) {
      const alone = await complete(fresh.base, prompt);
      expectSameText(replies[index] as Reply, alone);
      expectSameText(await complete(base, edited(prompt, 20)), await complete(fresh.base, edited(prompt, 20)));
    }
    const { pool } = (await (await fetch(`${base}/api/extra/cache`)).json()) as { pool: { capacity: number } };
    expect(pool).toMatchObject({ capacity: 2048, waiting: 0 });
    await stop();
  });

  test('snapshots: restores prompts from memory, and from disk after a restart', async () => {
    // Guesses that are nearly always wrong must change nothing either.
    const cachingFlags = [...flags, '--smartcache', '--diskcache', join(folder, `${name}-disk`), '--draftngram', '1'];
    const prompt = nonsense(8, 400);
    const first = await start(cachingFlags);
    expect(first.output().includes('cannot take guesses back')).toBe(name !== 'window');
    await complete(first.base, prompt);
    await complete(first.base, nonsense(9, 300));
    const [back, expected] = [await complete(first.base, prompt), await complete(fresh.base, prompt)];
    expectSameText(back, expected);
    expect(back.cached).toBe(399);
    await first.stop();
    const second = await start(cachingFlags);
    const again = await complete(second.base, edited(prompt, 10));
    expectSameText(again, await complete(fresh.base, edited(prompt, 10)));
    expect(again.cached).toBe(335);
    await second.stop();
  });
});

test('--noswa: a snapshot of a sliding window is used only for a text that continues from its end', async () => {
  const model = join(folder, 'whole-window.gguf');
  await writeWindowModel(model, embeddedModel);
  const flags = ['--model', model, '--contextsize', '2048', '--noswa'];
  const [fresh, keeping] = await Promise.all([start([...flags, '--nofastforward']), start([...flags, '--smartcache'])]);
  const prompt = nonsense(21, 400);
  await complete(keeping.base, prompt);
  await complete(keeping.base, nonsense(22, 300));
  const bothSay = (prompts: readonly string[]) =>
    Promise.all([keeping, fresh].map(({ base }) => complete(base, prompts, sampled))) as Promise<[Reply, Reply]>;
  // Of the snapshot of this text all is there that its next token sees, and not what a token before its end does.
  const [answer, expected] = await bothSay(edited(prompt, 150));
  expectClose(answer, expected);
  expect(answer.cached).toBe(0);
  // A reply of one token leaves nothing but the prompt.
  await complete(keeping.base, edited(prompt, 150), { max_tokens: 1 });
  await complete(keeping.base, nonsense(23, 300));
  const [back, whole] = await bothSay([...edited(prompt, 150), ...nonsense(24, 60)]);
  expectClose(back, whole);
  expect(back.cached).toBeGreaterThan(390);
  await Promise.all([fresh.stop(), keeping.stop()]);
});

test('--kvpool: replies that outgrow the shared cells are parked and give the same texts as alone', async () => {
  const flags = ['--model', embeddedModel, '--contextsize', '256'];
  const [fresh, sharing] = await Promise.all([
    start([...flags, '--nofastforward']),
    start([...flags, '--parallelrequests', '4', '--batchall', '--kvpool', '256', '--smartcache', '0']),
  ]);
  const long = { max_tokens: 120, ignore_eos: true };
  const prompts = [31, 32, 33, 34].map((seed) => nonsense(seed, 30));
  const replies = await Promise.all(prompts.map((prompt) => complete(sharing.base, prompt, long)));
  for (const [index, prompt] of prompts.entries()) {
    expect(replies[index]?.tokens).toHaveLength(120);
    expectSameText(replies[index] as Reply, await complete(fresh.base, prompt, long));
  }
  await Promise.all([fresh.stop(), sharing.stop()]);
});
