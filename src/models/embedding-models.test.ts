import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { writeGguf } from '../../scripts/conversion/gguf-file.ts';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { Terminal } from '../observe/terminal.ts';
import { embeddingModel, embeddingOptions, textEmbeddingModel } from './embedding-models.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-embedding-models-'));
afterAll(() => rmSync(folder, { recursive: true }));

const terminal = new Terminal({ write: () => undefined, columns: () => undefined } as never);
const shape = { architecture: 'llama', layers: 2, trainedContext: 1024, sizeBytes: 1000, cacheBytesPerToken: 10 };
const chat = { name: 'chat', file: { path: '/models/chat.gguf', shape, chatTemplate: undefined } };
const nobody = { name: '', file: undefined };
const models = (own: Partial<Settings> = {}, text: typeof chat | typeof nobody = chat) => {
  const settings = { ...defaultSettings, ...own };
  return {
    embedding: embeddingModel(settings, { text, terminal }),
    textEmbedding: textEmbeddingModel(settings, { text, terminal }),
  };
};

describe('embeddingModel: without flags', () => {
  test('is the built-in model, small and unloaded when idle', async () => {
    const { embedding } = models();
    expect(embedding).toMatchObject({
      given: false,
      spec: { name: 'all-MiniLM-L6-v2', kind: 'embedding', auxiliary: true, keepMs: 600_000 },
    });
    expect(await embedding.spec.need()).toBeGreaterThan(46_000_000);
  });

  test('the text model is also available, with its own size', async () => {
    const { textEmbedding } = models();
    expect(textEmbedding).toMatchObject({ given: false, spec: { name: 'chat', kind: 'embedding', keepMs: 600_000 } });
    expect(textEmbedding?.spec.auxiliary).toBeUndefined();
    const need = (await textEmbedding?.spec.need()) ?? 0;
    // 1024 tokens, and not the 4096 of the default: it was trained for no more.
    const shorter = (await models({ embeddingsmaxctx: 512 }).textEmbedding?.spec.need()) ?? 0;
    expect(need - shorter).toBe(512 * 10);
  });

  test('without a text model only the built-in one is available', () => {
    expect(models({}, nobody).textEmbedding).toBeUndefined();
  });
});

describe('embeddingModel: --embeddingsmodel', () => {
  test('is loaded at the start and named by its file', async () => {
    const path = join(folder, 'some-embedder.gguf');
    const entry = { type: 'string', value: 'bert' } as const;
    await writeGguf(path, { metadata: { 'general.architecture': entry }, tensors: [] });
    const { embedding } = models({ embeddingsmodel: path });
    expect(embedding).toMatchObject({ given: true, spec: { name: 'some-embedder' } });
    expect(await embedding.spec.need()).toBeGreaterThan(0);
  });

  test('rejects a file that is not a model before a process starts', async () => {
    const { embedding } = models({ embeddingsmodel: join(folder, 'nobody.gguf') });
    await expect(embedding.spec.need()).rejects.toThrow(/ENOENT/);
  });

  test('a config is selected by its name, and a file by its own', () => {
    const config = { ...chat, name: 'my-config' };
    expect(models({ embeddingsmodel: '/e.gguf' }, config).textEmbedding).toBeUndefined();
    expect(models({}, config).textEmbedding?.spec.name).toBe('my-config');
    expect(models({ embeddingsmodel: '/e.gguf' }).textEmbedding?.spec.name).toBe('chat');
  });
});

describe('embeddingOptions', () => {
  const options = (own: Partial<Settings>, of = shape) =>
    embeddingOptions({ ...defaultSettings, ...own }, { path: resolve('/m.gguf') }, of);

  test('uses the CPU by default', () => {
    expect(options({})).toMatchObject({ backend: 'cpu', gpuLayers: 0, maxTokens: 4096 });
    expect(options({ gpulayers: 20, usecuda: ['0'] as never })).toMatchObject({ backend: 'cpu', gpuLayers: 0 });
    expect(options({ embeddingsgpu: true })).toMatchObject({ backend: 'auto', gpuLayers: 'auto' });
    expect(options({ embeddingsgpu: true, usecpu: true })).toMatchObject({ backend: 'cpu' });
  });

  test('takes maximum length, threads and build from the flags', () => {
    expect(options({ embeddingsmaxctx: 0, threads: 3, cpubuild: 'x64', noavx2: true })).toMatchObject({
      maxTokens: 0,
      threads: 3,
      cpuBuild: 'x64',
      cpuLevel: 'no-avx2',
    });
  });

  test('can be serialized for another process', () => {
    const said = options({ embeddingsgpu: true });
    expect(JSON.parse(JSON.stringify({ ...said, cpuBuild: null }))).toEqual({ ...said, cpuBuild: null });
  });

  test('metadata overrides apply to the text model only', () => {
    const overridekv = 'llama.x=int:1';
    expect(options({ overridekv }).metadataOverrides).toHaveLength(1);
    const spec = models({ overridekv: 'nonsense' }).embedding.spec;
    expect(spec.name).toBe('all-MiniLM-L6-v2');
  });
});
