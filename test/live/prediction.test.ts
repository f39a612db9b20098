import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writePlainModel } from '../models/memories.ts';
import { type Knowledge, type Part, writePredictionModel } from '../models/prediction.ts';
import { nativeClient } from './client.ts';
import { embeddedModel, liveServers } from './server.ts';

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-prediction-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Attention that rounds the same in batches of any size. */
const small = ['--contextsize', '512', '--noflashattention', '--quiet'];

async function model(knowledge: Knowledge, part: Part = 'whole'): Promise<string> {
  const path = join(folder, `${knowledge.replace(' ', '-')}-${part}.gguf`);
  await writePredictionModel(path, embeddedModel, knowledge, part);
  return path;
}

async function serve(flags: readonly string[]) {
  const server = await start([...small, ...flags]);
  return { ...nativeClient(server.base), server };
}

type Client = Awaited<ReturnType<typeof serve>>;

async function acceptance(client: Client): Promise<{ right: number; wrong: number }> {
  const { last_draft_success: right, last_draft_failed: wrong } = (await client.get('/api/extra/perf')).json() as {
    last_draft_success: number;
    last_draft_failed: number;
  };
  return { right, wrong };
}

const line = 'The layer for multi-token prediction drafts up to';
const samplings = [
  ['at temperature 0', { temperature: 0, rep_pen: 1 }],
  ['with a seed', { temperature: 0.9, sampler_seed: 42, top_k: 30, rep_pen: 1 }],
  ['with penalties', { temperature: 0.7, sampler_seed: 7, rep_pen: 1.3 }],
] as const;
const prompts = ['Once upon a time', 'The small cat saw a bird and', 'Tom and Lily went to the old house'];

describe.each(['nothing', 'token', 'most tokens', 'state'] as const)(
  '--usemtp with a layer that knows %s',
  (knowledge) => {
    let plain: Client;
    let drafted: Client;
    beforeAll(async () => {
      const path = await model(knowledge);
      [plain, drafted] = await Promise.all([
        serve(['--model', path]),
        serve(['--model', path, '--usemtp', '--draftamount', '7']),
      ]);
    });
    afterAll(() => Promise.all([plain.server.stop(), drafted.server.stop()]));

    test.each(samplings)('gives the same text %s', async (_, sampling) => {
      let sum = 0;
      for (const prompt of prompts) {
        const request = { prompt, max_length: 80, ...sampling };
        expect((await drafted.generate(request)).text).toBe((await plain.generate(request)).text);
        const { right, wrong } = await acceptance(drafted);
        sum += right + wrong;
      }
      expect(sum).toBeGreaterThan(3);
    });

    test('gives the same text up to the end of the context', async () => {
      const request = {
        prompt: 'the old house '.repeat(150),
        max_length: 100,
        max_context_length: 512,
        temperature: 0,
      };
      const [actual, expected] = [await drafted.generate(request), await plain.generate(request)];
      expect(actual.text).toBe(expected.text);
      expect(actual.completion_tokens).toBe(expected.completion_tokens);
    });

    test('gives the same text after an edited prompt, a rewind and a grammar', async () => {
      const first = await plain.generate({ prompt: prompts[0], max_length: 40, rep_pen: 1 });
      for (const request of [
        { prompt: `${prompts[0]}${first.text}`, max_length: 30, rep_pen: 1 },
        { prompt: `${prompts[0]}${first.text.slice(0, 60)} and`, max_length: 30, rep_pen: 1 },
        { prompt: prompts[0], max_length: 40, rep_pen: 1, banned_tokens: [first.text.slice(9, 24)] },
        { prompt: prompts[0], grammar: 'root ::= [a-z ]+', max_length: 20 },
        { prompt: `${prompts[0]}${first.text}`, max_length: 30, rep_pen: 1 },
      ]) {
        expect((await drafted.generate(request)).text).toBe((await plain.generate(request)).text);
      }
    });
  },
);

describe('--usemtp', () => {
  test('nearly all drafts of a layer that is right are accepted', async () => {
    const client = await serve(['--model', await model('token'), '--usemtp']);
    await client.server.says(`${line} 4 tokens at each step.`);
    await client.generate({ prompt: prompts[0], max_length: 80, rep_pen: 1 });
    const { right, wrong } = await acceptance(client);
    expect(right).toBeGreaterThan(50);
    expect(wrong).toBeLessThan(right / 10);
  });

  test('the layer gets the hidden states of the main model: after a prompt, its edit, a pause and beside others', async () => {
    const flags = ['--draftamount', '1', '--parallelrequests', '2', '--batchall'];
    const client = await serve(['--model', await model('state'), '--usemtp', ...flags]);
    for (const prompt of [prompts[0], `${prompts[0]} there`, prompts[1], `${prompts[0]} was`]) {
      await client.generate({ prompt, max_length: 60, rep_pen: 1 });
      const { right, wrong } = await acceptance(client);
      expect(right).toBeGreaterThan(25);
      expect(wrong).toBe(0);
    }
  });

  test('a layer that is wrong is asked less and less', async () => {
    const client = await serve(['--model', await model('nothing'), '--usemtp']);
    await client.generate({ prompt: prompts[0], max_length: 200, rep_pen: 1 });
    const { wrong } = await acceptance(client);
    expect(wrong).toBeGreaterThan(0);
    expect(wrong).toBeLessThan(40);
  });

  test('a layer in a file of its own drafts for the model without it', async () => {
    const [trunk, layer] = [await model('token', 'trunk'), await model('token', 'layer')];
    const client = await serve(['--model', trunk, '--draftmodel', layer, '--usemtp']);
    await client.server.says('token-layer.gguf drafts up to 4 tokens at each step.');
    const plain = await serve(['--model', trunk]);
    const request = { prompt: prompts[0], max_length: 60, rep_pen: 1 };
    expect((await client.generate(request)).text).toBe((await plain.generate(request)).text);
    const { right, wrong } = await acceptance(client);
    expect(right).toBeGreaterThan(30);
    expect(wrong).toBeLessThan(10);
  });

  test('an aborted request leaves a layer that still drafts right', async () => {
    const client = await serve(['--model', await model('token'), '--usemtp']);
    const [answer] = await Promise.all([
      client.generate({ prompt: prompts[1], max_length: 400, genkey: 'KCPP1', rep_pen: 1 }),
      client.begun('KCPP1').then(() => client.post('/api/extra/abort', { genkey: 'KCPP1' })),
    ]);
    expect(answer.completion_tokens).toBeLessThan(401);
    await client.generate({ prompt: `${prompts[1]}${answer.text}`.slice(0, 200), max_length: 60, rep_pen: 1 });
    const { right, wrong } = await acceptance(client);
    expect(right).toBeGreaterThan(35);
    expect(wrong).toBeLessThan(10);
  });
});

// A model that depends on all it has read is rounded in another way beside others, with drafts or without.
describe.each([
  ['', []],
  [' with a shared cache', ['--kvpool', '700']],
] as const)('--usemtp beside other requests%s', (_, flags) => {
  test.each(['most tokens', 'state'] as const)('gives the text of each alone (knows %s)', async (knowledge) => {
    const path = await model(knowledge);
    const many = ['--parallelrequests', '4', '--batchall', '--draftamount', '8', ...flags];
    const [plain, drafted] = await Promise.all([
      serve(['--model', path]),
      serve(['--model', path, '--usemtp', ...many]),
    ]);
    const requests = samplings.flatMap(([, sampling]) =>
      prompts.slice(0, 2).map((prompt) => ({ ...sampling, prompt, max_length: 60 })),
    );
    const alone: string[] = [];
    for (const request of requests) alone.push((await plain.generate(request)).text);
    const together = await Promise.all(requests.map((request) => drafted.generate(request)));
    expect(together.map(({ text }) => text)).toEqual(alone);
  });
});

describe('--usemtp where it cannot be used', () => {
  const request = { prompt: prompts[0], max_length: 20, rep_pen: 1 };

  async function refuses(flags: readonly string[], sentence: string): Promise<void> {
    const client = await serve([...flags, '--usemtp']);
    await client.server.says(sentence);
    expect((await client.generate(request)).completion_tokens).toBe(20);
    expect(await acceptance(client)).toEqual({ right: 0, wrong: 0 });
  }

  test('says so with a model without such layers, or without their weights', async () => {
    const path = join(folder, 'plain.gguf');
    await writePlainModel(path, embeddedModel);
    await refuses(['--model', path], 'The model has no layers for multi-token prediction. --usemtp has no effect.');
    const missing = '(blk.2.nextn.eh_proj.weight is missing). --usemtp has no effect.';
    await refuses(['--model', await model('token', 'trunk')], missing);
  });

  test('says so with --deterministic', async () => {
    const path = await model('token');
    await refuses(['--model', path, '--deterministic'], '--deterministic drafts nothing. --usemtp has no effect.');
  });

  test('uses a draft model without such layers as one', async () => {
    const flags = ['--draftmodel', embeddedModel, '--usemtp'];
    const client = await serve(flags);
    await client.server.says(
      'parley-mini.gguf has no layers for multi-token prediction. It drafts as a plain draft model.',
    );
    await client.generate(request);
    expect((await acceptance(client)).right).toBeGreaterThan(5);
  });
});
