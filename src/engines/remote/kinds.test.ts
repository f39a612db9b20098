import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { identify, shortName } from './kinds.ts';

async function identified(list: unknown, answers: Readonly<Record<string, unknown>> = {}) {
  const looked: string[] = [];
  const identity = await identify(list, async (path) => {
    looked.push(path);
    return answers[path];
  });
  return { ...identity, looked };
}

const models = (...data: readonly object[]) => ({ object: 'list', data });

describe('identify', () => {
  test('Parley by its version', async () => {
    const list = models(
      { id: 'koboldcpp/parley-mini', owned_by: 'koboldcpp', max_model_len: 2048 },
      { id: 'all-MiniLM-L6-v2', owned_by: 'koboldcpp', capabilities: ['embedding'] },
    );
    const version = { result: 'KoboldCpp', parley: { version: '1' }, vision: true, audio: false };
    expect(await identified(list, { '/api/extra/version': version })).toEqual({
      kind: 'parley',
      models: [
        { id: 'koboldcpp/parley-mini', name: 'parley-mini', contextSize: 2048, embeds: false },
        { id: 'all-MiniLM-L6-v2', name: 'all-MiniLM-L6-v2', contextSize: undefined, embeds: true },
      ],
      inputs: { image: true, audio: false },
      looked: ['/api/extra/version'],
    });
  });

  test('Parley: finds its built-in embeddings model in its second list', async () => {
    const list = {
      ...models({ id: 'koboldcpp/parley-mini', owned_by: 'koboldcpp', max_model_len: 2048 }),
      models: [
        { name: 'koboldcpp/parley-mini', capabilities: ['completion'] },
        { name: 'all-MiniLM-L6-v2', capabilities: ['embedding'] },
      ],
    };
    const { models: found } = await identified(list, { '/api/extra/version': { parley: { version: '1' } } });
    expect(found.map(({ id, embeds }) => [id, embeds])).toEqual([
      ['koboldcpp/parley-mini', false],
      ['all-MiniLM-L6-v2', true],
    ]);
  });

  test('KoboldCpp by its version', async () => {
    const list = models({ id: 'koboldcpp/model', owned_by: 'koboldcpp' });
    const { kind, inputs } = await identified(list, { '/api/extra/version': { result: 'KoboldCpp' } });
    expect(kind).toBe('koboldcpp');
    expect(inputs).toEqual({ image: false, audio: false });
  });

  test('vLLM and SGLang by their lists', async () => {
    expect(await identified(models({ id: 'Qwen/Qwen3-8B', owned_by: 'vllm', max_model_len: 40960 }))).toMatchObject({
      kind: 'vllm',
      models: [{ id: 'Qwen/Qwen3-8B', name: 'Qwen3-8B', contextSize: 40960 }],
      looked: [],
    });
    expect((await identified(models({ id: 'x', owned_by: 'sglang' }))).kind).toBe('sglang');
  });

  test('vLLM with another owner by its version', async () => {
    const list = models({ id: 'x', owned_by: 'us' });
    expect((await identified(list, { '/version': { version: '0.11.0' } })).kind).toBe('vllm');
  });

  test('llama-server with context size and modalities', async () => {
    const props = { default_generation_settings: { n_ctx: 8192 }, modalities: { vision: true, audio: false } };
    const named = await identified(models({ id: 'm.gguf', owned_by: 'llamacpp' }), { '/props': props });
    expect(named).toMatchObject({ kind: 'llama-server', models: [{ name: 'm', contextSize: 8192 }] });
    expect(named.inputs).toEqual({ image: true, audio: false });
    expect((await identified(models({ id: 'm' }), { '/props': props })).kind).toBe('llama-server');
  });

  test('TGI by its info', async () => {
    const info = { model_id: 'org/x', max_total_tokens: 4096 };
    expect(await identified(models({ id: 'org/x', owned_by: 'org/x' }), { '/info': info })).toMatchObject({
      kind: 'tgi',
      models: [{ contextSize: 4096 }],
    });
  });

  test('an unknown product accepts all media', async () => {
    expect(await identified(models({ id: 'gpt-x', owned_by: 'system' }))).toMatchObject({
      kind: 'openai',
      inputs: { image: true, audio: true },
    });
  });

  test('any response gives an identity', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (list, answer) => {
        const { kind, models: found } = await identify(list, async () => answer);
        expect(kind).toEqual(expect.any(String));
        for (const { id } of found) expect(id).not.toBe('');
      }),
    );
  });
});

test('shownName: has no organisation, folder or extension', () => {
  expect(shortName('koboldcpp/parley-mini')).toBe('parley-mini');
  expect(shortName('/models/My-Model.Q4_K_M.gguf')).toBe('My-Model.Q4_K_M');
  expect(shortName('plain')).toBe('plain');
  expect(shortName('odd/')).toBe('odd/');
});
