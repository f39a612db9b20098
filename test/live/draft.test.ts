import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeRandomModel } from '../../bench/random-model.ts';
import { type NativeResult, nativeClient } from './client.ts';
import { expectMostlyShared, sharedUntilTie, withTokens } from './near-tie.ts';
import { embeddedModel, liveServers } from './server.ts';

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-draft-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const small = ['--contextsize', '512', '--quiet'];

interface Acceptance {
  readonly last_draft_success: number;
  readonly last_draft_failed: number;
}

async function pair(model: readonly string[], draft: readonly string[]) {
  const servers = await Promise.all([start([...small, ...model]), start([...small, ...model, ...draft])]);
  const [plain, drafted] = servers.map(({ base }) => nativeClient(base)) as [Client, Client];
  return { plain, drafted, says: servers[1].says };
}

type Client = ReturnType<typeof nativeClient>;

async function acceptance(client: Client): Promise<Acceptance> {
  return (await client.get('/api/extra/perf')).json() as Acceptance;
}

const samplings = [
  ['at temperature 0', { temperature: 0 }],
  ['with a seed', { temperature: 0.9, sampler_seed: 42, top_k: 30 }],
  ['with penalties', { temperature: 0.7, sampler_seed: 7, rep_pen: 1.3 }],
] as const;

describe('--draftmodel with the model itself', () => {
  let both: Awaited<ReturnType<typeof pair>>;
  beforeAll(async () => {
    both = await pair([], ['--draftmodel', embeddedModel, '--draftamount', '4']);
  });

  test('reports it when loaded', async () => {
    await both.says('parley-mini.gguf drafts up to 4 tokens at each step.');
  });

  test.each(samplings)('writes the same text %s, up to near ties', async (_, sampling) => {
    const shares: number[] = [];
    for (const prompt of ['Once upon a time', 'The small cat saw a bird and', 'Tom and Lily went to']) {
      const request = withTokens({ prompt, max_length: 60, ...sampling });
      const [actual, expected] = [await both.drafted.generate(request), await both.plain.generate(request)];
      shares.push(await sharedUntilTie(both.plain, request, actual, expected));
    }
    expectMostlyShared(shares);
  });

  test('at temperature 0 nearly all drafts are accepted', async () => {
    await both.drafted.generate({ prompt: 'One day a girl went', max_length: 60, rep_pen: 1 });
    const { last_draft_success: right, last_draft_failed: wrong } = await acceptance(both.drafted);
    expect(right).toBeGreaterThan(20);
    expect(wrong).toBeLessThan(right / 10);
  });

  test('drafts no tokens with a grammar', async () => {
    const request = { prompt: 'A number:', grammar: 'root ::= [0-9]+', max_length: 20 };
    expect((await both.drafted.generate(request)).text).toBe((await both.plain.generate(request)).text);
    expect(await acceptance(both.drafted)).toMatchObject({ last_draft_success: 0, last_draft_failed: 0 });
  });
});

describe('--draftmodel with a random model', () => {
  const tiny = { layers: 1, width: 64, heads: 2, kvHeads: 1, feedForward: 64, vocabulary: 600, contextLength: 512 };
  const paths = ['model', 'draft', 'other'].map((name) => join(folder, `${name}.gguf`)) as [string, string, string];
  beforeAll(async () => {
    await writeRandomModel(paths[0], { ...tiny, seed: 1 });
    await writeRandomModel(paths[1], { ...tiny, seed: 2 });
    await writeRandomModel(paths[2], { ...tiny, vocabulary: 1200 });
  });

  test('does not change the text', async () => {
    const { plain, drafted } = await pair(['--model', paths[0]], ['--draftmodel', paths[1], '--draftngram']);
    for (const [, sampling] of samplings) {
      const request = { prompt: 'abc', max_length: 40, ...sampling };
      expect((await drafted.generate(request)).text).toBe((await plain.generate(request)).text);
    }
    expect((await acceptance(drafted)).last_draft_failed).toBeGreaterThan(0);
  });

  test('a different vocabulary is refused', async () => {
    await expect(start(['--model', paths[0], '--draftmodel', paths[2]])).rejects.toThrow(
      /does not have the vocabulary of the model: it has \d+ tokens and the model has \d+/,
    );
  });

  test('a file that is not a model is refused', async () => {
    const script = new URL(import.meta.url).pathname;
    await expect(start(['--model', paths[0], '--draftmodel', script])).rejects.toThrow(
      /the draft model .* cannot be loaded/,
    );
    await expect(start(['--draftmodel', join(folder, 'none.gguf')])).rejects.toThrow('none.gguf does not exist');
  });
});

test('drafts: parallel requests write the same texts as alone, up to near ties', async () => {
  const flags = ['--parallelrequests', '4', '--batchall', '--draftngram', '2', '--draftmodel', embeddedModel];
  const { plain, drafted } = await pair([], flags);
  const requests = samplings.flatMap(([, sampling]) =>
    ['A cat and a dog', 'One two three one two'].map((prompt) => withTokens({ ...sampling, prompt, max_length: 40 })),
  );
  const alone: NativeResult[] = [];
  for (const request of requests) alone.push(await plain.generate(request));
  const together = await Promise.all(requests.map((request) => drafted.generate(request)));
  const shares: number[] = [];
  for (const [index, request] of requests.entries()) {
    const [actual, expected] = [together[index], alone[index]] as [NativeResult, NativeResult];
    shares.push(await sharedUntilTie(plain, request, actual, expected));
  }
  expectMostlyShared(shares);
});
