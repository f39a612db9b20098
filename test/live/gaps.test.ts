import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gapMarks, writeGapModel } from '../models/gaps.ts';
import { nativeClient, neverEnding } from './client.ts';
import { embeddedModel, liveServers } from './server.ts';

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-gaps-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const [before, behind, gap] = gapMarks;

interface Scored {
  readonly choices: readonly [{ readonly text: string; readonly prompt_logprobs: readonly (object | null)[] }];
}

describe('model with fill-in-the-middle tokens', () => {
  let client: ReturnType<typeof nativeClient>;
  beforeAll(async () => {
    const model = join(folder, 'gaps.gguf');
    await writeGapModel(model, embeddedModel);
    client = nativeClient((await start(['--model', model, '--contextsize', '512'])).base);
  });

  test('OpenAI suffix: the prompt has prefix and suffix between the tokens', async () => {
    const body = { prompt: 'The fox', suffix: 'was happy.', max_tokens: 2, prompt_logprobs: 0 };
    const answer = (await client.post('/v1/completions', body)).json() as Scored;
    const words = answer.choices[0].prompt_logprobs.flatMap((figures) =>
      Object.values((figures ?? {}) as Record<string, { decoded_token: string }>).map((one) => one.decoded_token),
    );
    // The very first token has no figures.
    expect(`${before}${words.join('').replace(before, '')}`).toBe(`${before}The fox${behind}was happy.${gap}`);
    expect(words.filter((word) => word === behind || word === gap)).toEqual([behind, gap]);
  });

  test('Ollama suffix: does the same', async () => {
    const body = {
      model: 'gaps',
      prompt: 'a(',
      suffix: ')',
      options: { num_predict: 2, ...neverEnding },
      stream: false,
    };
    const rendered = (await client.post('/api/generate', { ...body, _debug_render_only: true })).json();
    expect(rendered).toMatchObject({ _debug_info: { rendered_template: `${before}a(${behind})${gap}` } });
    expect((await client.post('/api/generate', body)).json()).toMatchObject({ done: true, eval_count: 2 });
  });

  test('llama.cpp /infill: does the same', async () => {
    const answer = (
      await client.post('/infill', { input_prefix: 'a(', input_suffix: ')', n_predict: 2, ...neverEnding })
    ).json();
    expect(answer).toMatchObject({ prompt: `${before}a(${behind})${gap}`, tokens_predicted: 2 });
  });
});

describe('model without fill-in-the-middle tokens', () => {
  let client: ReturnType<typeof nativeClient>;
  beforeAll(async () => {
    client = nativeClient((await start()).base);
  });

  test('suffix: is refused in the form of each dialect', async () => {
    const openai = await client.post('/v1/completions', { prompt: 'a(', suffix: ')' });
    expect([openai.status, openai.json()]).toMatchObject([400, { error: { param: 'suffix' } }]);
    const ollama = await client.post('/api/generate', { model: 'mini', prompt: 'a(', suffix: ')' });
    expect([ollama.status, ollama.json()]).toEqual([400, { error: 'mini does not support insert' }]);
    const llamacpp = await client.post('/infill', { input_prefix: 'a(', input_suffix: ')' });
    expect(llamacpp.status).toBe(501);
  });
});
