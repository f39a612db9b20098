import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { writeGguf } from '../../../scripts/conversion/gguf-file.ts';
import type { GgufEntry } from '../../gguf/gguf.ts';
import { embeddedModel } from '../../models/text-engine.ts';
import { contextSizeFor, expectedContextSize, readModelFile } from './load-options.ts';

const shape = { architecture: 'llama', layers: 1, trainedContext: 2048, sizeBytes: 1, cacheBytesPerToken: 1 };
const options = {
  contextSize: 16_384,
  contextSizeGiven: false,
  trainedContextOverride: 0,
  metadataOverrides: [],
  shape,
};

test('contextSizeFor: a default is limited by the trained context, a given one is not', () => {
  expect(contextSizeFor({ contextSize: 4096, contextSizeGiven: false }, 2048)).toBe(2048);
  expect(contextSizeFor({ contextSize: 1024, contextSizeGiven: false }, 2048)).toBe(1024);
  expect(contextSizeFor({ contextSize: 4096, contextSizeGiven: true }, 2048)).toBe(4096);
});

test.each([
  ['trained context of the file', {}, 2048],
  ['a given size', { contextSizeGiven: true }, 16_384],
  ['--overridenativecontext', { trainedContextOverride: 4096 }, 4096],
  [
    '--overridekv of the context length',
    { metadataOverrides: [{ key: 'llama.context_length', type: 'int' as const, value: '512' }] },
    512,
  ],
  [
    'no other --overridekv',
    { metadataOverrides: [{ key: 'llama.block_count', type: 'int' as const, value: '512' }] },
    2048,
  ],
  ['the default without a trained context', { shape: { ...shape, trainedContext: 0 } }, 16_384],
])('expectedContextSize: %s', (_, own, expected) => {
  expect(expectedContextSize({ ...options, ...own })).toBe(expected);
});

const folder = mkdtempSync(join(tmpdir(), 'parley-model-file-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The facts of a file with this architecture and these figures. */
async function read(
  architecture: string,
  figures: Readonly<Record<string, number>>,
  more: Record<string, GgufEntry> = {},
) {
  const path = join(folder, `${architecture}-${Object.values(figures).join('-')}.gguf`);
  const metadata: Record<string, GgufEntry> = {
    'general.architecture': { type: 'string', value: architecture },
    ...Object.fromEntries(
      Object.entries(figures).map(([name, value]) => [`${architecture}.${name}`, { type: 'uint32', value } as const]),
    ),
    ...more,
  };
  await writeGguf(path, { metadata, tensors: [{ name: 'w', shape: [64], type: 'F32', data: new Float32Array(64) }] });
  return readModelFile(path);
}

describe('readModelFile', () => {
  test('size of the file, and cache bytes per token', async () => {
    const { shape } = await read('llama', {
      block_count: 4,
      embedding_length: 64,
      'attention.head_count': 8,
      'attention.head_count_kv': 2,
    });
    // Two bytes for each of the keys and the values of two heads of eight, on four layers.
    expect(shape).toMatchObject({
      architecture: 'llama',
      layers: 4,
      sizeBytes: 256,
      cacheBytesPerToken: 2 * 4 * 2 * 16,
    });
  });

  test('heads of another width change the cache bytes', async () => {
    const { shape } = await read('gemma3', {
      block_count: 1,
      embedding_length: 64,
      'attention.head_count': 4,
      'attention.key_length': 32,
      'attention.value_length': 32,
    });
    expect(shape.cacheBytesPerToken).toBe(2 * 4 * 64);
  });

  test.each([
    ['no heads at all', { block_count: 2, embedding_length: 64 }],
    ['a count of zero', { block_count: 2, embedding_length: 64, 'attention.head_count': 0 }],
  ])('every figure is a number with %s', async (_, figures) => {
    const { shape } = await read('mamba', figures);
    expect(Number.isFinite(shape.cacheBytesPerToken)).toBe(true);
    expect(shape.layers).toBe(2);
  });

  test('chat template, if there is one', async () => {
    const template: GgufEntry = { type: 'string', value: '{{ messages }}' };
    const figures = { block_count: 1 };
    expect((await read('llama', figures, { 'tokenizer.chat_template': template })).chatTemplate).toBe('{{ messages }}');
    expect((await read('qwen', figures)).chatTemplate).toBeUndefined();
  });

  test('chat template of the embedded model', async () => {
    const { path, shape, chatTemplate } = await readModelFile(embeddedModel);
    expect(path).toBe(embeddedModel);
    expect(shape).toMatchObject({ architecture: expect.any(String), trainedContext: expect.any(Number) });
    for (const figure of [shape.layers, shape.trainedContext, shape.sizeBytes, shape.cacheBytesPerToken]) {
      expect(figure).toBeGreaterThan(0);
    }
    expect(chatTemplate).toContain('messages');
  });

  test('rejects a file that is not a model', async () => {
    const path = join(folder, 'text.gguf');
    writeFileSync(path, 'hello');
    await expect(readModelFile(path)).rejects.toThrow('This is no GGUF file');
    await expect(readModelFile(join(folder, 'nowhere.gguf'))).rejects.toThrow('ENOENT');
  });
});
