import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeRandomModel } from '../../bench/random-model.ts';
import { writeTextLora } from '../models/lora.ts';
import { type NativeClient, nativeClient } from './client.ts';
import { liveServers } from './server.ts';

const startServer = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-lora-'));
const shape = { layers: 2, width: 64, heads: 4, kvHeads: 4, feedForward: 128, vocabulary: 512 };
const file = (name: string) => join(folder, `${name}.gguf`);
let plain: NativeClient;
let adapted: NativeClient;
let address: string;

beforeAll(async () => {
  await writeRandomModel(file('model'), { ...shape, byteTokens: 'text', contextLength: 512 });
  for (const [seed, name] of ['style', 'voice'].entries()) await writeTextLora(file(name), { ...shape, seed });
  const args = ['--model', file('model'), '--contextsize', '512', '--parallelrequests', '2', '--admin'];
  // Otherwise cached and newly computed prompts are rounded differently.
  args.push('--deterministic');
  const lora = ['--lora', file('style'), file('voice'), '--loramult', '0'];
  const presets = join(folder, 'presets');
  mkdirSync(presets);
  const preset = { base: 'model', gendefaults: { lora: [voice(1)] } };
  writeFileSync(join(presets, 'spoken.kcpps'), JSON.stringify(preset));
  lora.push('--admindir', presets);
  const [without, server] = [await startServer(args), await startServer([...args, ...lora])];
  plain = nativeClient(without.base);
  address = server.base;
  adapted = nativeClient(server.base);
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const prompt = 'hello there, this is a prompt that is long enough to be cached';
/** The probabilities of the first token, which are those of the logits. */
async function logits(client: NativeClient, lora?: readonly object[]): Promise<ReadonlyMap<string, number>> {
  const body = {
    prompt,
    max_length: 1,
    logprobs: true,
    temperature: 1,
    top_k: 0,
    sampler_seed: 5,
    ban_eos_token: true,
  };
  const { logprobs } = await client.generate({ ...body, ...(lora && { lora }) });
  const first = logprobs?.content[0] as { top_logprobs: { token: string; logprob: number }[] } | undefined;
  return new Map(first?.top_logprobs.map(({ token, logprob }) => [token, logprob]));
}
const text = async (client: NativeClient, more: object = {}) =>
  (await client.generate({ prompt, max_length: 24, temperature: 1, sampler_seed: 7, ban_eos_token: true, ...more }))
    .text;

const style = (scale: number) => ({ name: 'style', scale });
const voice = (scale: number) => ({ id: 1, scale });

test('lora: adapters that do not apply change nothing', async () => {
  expect(await text(adapted)).toBe(await text(plain));
  expect(await logits(adapted)).toEqual(await logits(plain));
  expect(await logits(adapted, [style(0), voice(0)])).toEqual(await logits(plain));
});

test('lora: each adapter, both, and each scale have logits of their own, the same whatever was asked before', async () => {
  const settings = [[style(1)], [voice(1)], [style(1), voice(1)], [style(0.5), voice(1)], []];
  const first = [];
  for (const lora of settings) first.push(JSON.stringify([...(await logits(adapted, lora))]));
  expect(new Set(first).size).toBe(settings.length);
  const again = await Promise.all(settings.toReversed().map((lora) => logits(adapted, lora)));
  expect(again.toReversed().map((one) => JSON.stringify([...one]))).toEqual(first);
});

test('lora: replies at the same time with different adapters are those of each alone', async () => {
  const settings = [[style(1)], [voice(1)], [], [style(1)]];
  const alone = [];
  for (const lora of settings) alone.push(await text(adapted, { lora }));
  expect(await Promise.all(settings.map((lora) => text(adapted, { lora })))).toEqual(alone);
  expect(new Set(alone).size).toBe(3);
});

test('lora: /lora-adapters sets the scales of requests that choose none', async () => {
  const chosen = await text(adapted, { lora: [voice(1)] });
  const set = (body: unknown) =>
    fetch(`${address}/lora-adapters`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    });
  expect((await set([voice(1)])).status).toBe(200);
  const listed = (await (await fetch(`${address}/lora-adapters`)).json()) as { scale: number }[];
  expect(listed.map(({ scale }) => scale)).toEqual([0, 1]);
  expect(await text(adapted)).toBe(chosen);
  expect((await set([])).status).toBe(200);
  expect(await text(adapted)).toBe(await text(plain));
});

test('lora: a preset chooses adapters, costs no second load, and a request may choose others', async () => {
  const ask = async (fields: object) => {
    const body = { prompt, max_tokens: 24, temperature: 1, seed: 7, ignore_eos: true, ...fields };
    const reply = await adapted.post('/v1/completions', body);
    return (reply.json() as { choices: { text: string }[] }).choices[0]?.text;
  };
  const [plainly, voiced] = [await ask({ model: 'model' }), await ask({ model: 'model', lora: [voice(1)] })];
  expect(voiced).not.toBe(plainly);
  expect(await ask({ model: 'spoken' })).toBe(voiced);
  expect(await ask({ model: 'spoken', lora: [] })).toBe(plainly);
  expect(await ask({ model: 'spoken', lora: [style(1)] })).toBe(await ask({ model: 'model', lora: [style(1)] }));
  const { models } = (await (await fetch(`${address}/api/extra/models`)).json()) as {
    models: { kind: string; state: string }[];
  };
  expect(models.filter(({ kind, state }) => kind === 'text' && state === 'loaded')).toHaveLength(2);
});

test('lora: an adapter that is not loaded is refused with those that are', async () => {
  const reply = await adapted.post('/api/v1/generate', { prompt, max_length: 1, lora: [{ id: 2, scale: 1 }] });
  expect(reply.status).toBe(400);
  expect(JSON.stringify(reply.json())).toContain('0 (style), 1 (voice)');
});
