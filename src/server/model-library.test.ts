import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeGguf } from '../../scripts/conversion/gguf-file.ts';
import { defaultMemory } from '../engines/llama/model-shape.ts';
import { testHub } from '../library/testing/hub.ts';
import { createLibrary, modelSource } from './model-library.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-library-'));
afterAll(() => rmSync(root, { recursive: true }));
const folder = join(root, 'admin');
const other = join(root, 'other');
const model = join(folder, 'a.gguf');

beforeAll(async () => {
  for (const path of [folder, other]) mkdirSync(path);
  await writeGguf(model, {
    metadata: {
      'general.architecture': { type: 'string', value: 'llama' },
      'llama.context_length': { type: 'uint32', value: 2048 },
    },
    tensors: [{ name: 'w', shape: [1 << 16], type: 'F32', data: new Float32Array(1 << 16) }],
  });
  writeFileSync(join(folder, 'c.kcpps'), '{}');
  writeFileSync(join(other, 'b.gguf'), readFileSync(model));
  writeFileSync(join(other, 'damaged.gguf'), 'no model');
});

const machine = {
  memory: async () => ({ gpuBytes: [4e9], mainBytes: 16e9 }),
  options: { ...defaultMemory, marginBytes: 0 },
  contextSize: 4096,
};

function library(base = 'http://127.0.0.1:1') {
  const hub = { base, token: undefined, offline: false };
  const target = mkdtempSync(join(root, 'target-'));
  const modelFolders = [{ program: 'LM Studio', folder: other, layout: 'files' as const }];
  const own = createLibrary({
    folder,
    allowLinks: false,
    modelFolders,
    target,
    hub,
    fetch,
    wait: async () => {},
    machine,
  });
  return { target, own };
}

test('list: files of the folder, and readable models of other programs', async () => {
  const { own } = library();
  expect(await own.list()).toMatchObject([
    {
      option: 'a.gguf',
      type: 'model',
      program: undefined,
      facts: { parameters: 65_536, quantization: 'F32', context: 2048 },
    },
    { option: 'c.kcpps', type: 'config', facts: undefined },
    { option: join(other, 'b.gguf'), name: 'b', program: 'LM Studio', facts: { context: 2048 } },
  ]);
});

test('find: only listed paths', async () => {
  const { own } = library();
  expect(await own.find(join(other, 'b.gguf'))).toMatchObject({ name: 'b' });
  expect(await own.find(join(folder, 'c.kcpps'))).toBeUndefined();
});

test.each([
  ['owner/name/file.gguf', 'model'],
  ['hf.co/owner/name:Q4_K_M', 'model'],
  ['https://huggingface.co/owner/name', 'model'],
  ['owner/name:Q4_K_M', 'ollama'],
  ['https://ollama.com/library/llama3', 'ollama'],
  ['../llama3', undefined],
  ['a%2fb', undefined],
  ['https://host/file.gguf', 'address'],
  ['http://host/file.gguf', undefined],
  ['https://host/settings.kcpps', undefined],
  ['npm:package', undefined],
  ['llama3', 'ollama'],
])('modelSource: %s is %s', (text, type) => {
  expect(modelSource(text)?.type).toBe(type);
});

describe('files', () => {
  const { signal } = new AbortController();

  test('sizes and fit of whole models, the chosen one and its projector', async () => {
    const bytes = readFileSync(model);
    const files = {
      'N-Q8_0-00001-of-00002.gguf': bytes,
      'N-Q8_0-00002-of-00002.gguf': Buffer.alloc(6),
      'N-BF16.gguf': Buffer.alloc(900_000),
      'N-Q4_K_M.gguf': bytes,
      'N-Q2_K-00001-of-00002.gguf': Buffer.alloc(3),
      'mmproj-F16.gguf': Buffer.alloc(2),
    };
    const { base, asked, stored } = await testHub({ 'owner/name': { files } });
    const { own } = library(base);
    expect(await own.files('owner/name', undefined, signal)).toMatchObject({
      model: 'owner/name',
      architecture: 'llama',
      supported: true,
      context: 2048,
      trainedContext: 2048,
      files: [
        { name: 'BF16', chosen: false },
        { name: 'Q8_0', bytes: bytes.length + 6, parts: 2, fit: 'card', speed: 'fast', chosen: true },
        { name: 'Q4_K_M', bytes: bytes.length, parts: 1, cardLayers: 1, layers: 1, chosen: false },
      ],
      reason: 'The largest useful one that fits wholly on the graphics card with a context of 2,048.',
      projector: { bytes: 2 },
    });
    expect(stored.map(({ range }) => range)).toEqual([`bytes=0-${bytes.length - 1}`]);
    // The hub is not asked again for another context.
    const before = asked.length;
    expect(await own.files('owner/name', 512, signal)).toMatchObject({ context: 512 });
    expect(asked).toHaveLength(before);
  });

  test('sizes and the usual choice, if the header cannot be read', async () => {
    const files = { 'N-Q8_0.gguf': Buffer.alloc(50), 'N-Q4_K_M.gguf': Buffer.alloc(40, 'no model') };
    const { base } = await testHub({ 'owner/name': { files } });
    expect(await library(base).own.files('owner/name', undefined, signal)).toMatchObject({
      architecture: null,
      supported: null,
      files: [
        { name: 'Q8_0', fit: null, chosen: false },
        { name: 'Q4_K_M', fit: null, memoryBytes: null, chosen: true },
      ],
    });
  });

  test('undefined for a file or what is no model, an error without model files', async () => {
    const { base } = await testHub({ 'owner/name': { files: { 'README.md': Buffer.alloc(1) } } });
    const { own } = library(base);
    expect(own.files('owner/name:Q4_K_M', undefined, signal)).toBeUndefined();
    expect(own.files('../name', undefined, signal)).toBeUndefined();
    await expect(own.files('owner/name', undefined, signal)).rejects.toThrow('has no model file');
  });
});

describe('download', () => {
  async function hub() {
    const bytes = readFileSync(model);
    const { base } = await testHub({ 'owner/name': { files: { 'file.gguf': bytes } } });
    return { bytes, ...library(base) };
  }

  test('reports progress and saves the file', async () => {
    const { own, target, bytes } = await hub();
    const reports = [];
    for await (const one of own.download('owner/name/file.gguf', new AbortController().signal) ?? []) reports.push(one);
    expect(reports.at(-1)).toEqual({ done: bytes.length, total: bytes.length });
    expect(existsSync(join(target, 'owner--name', 'file.gguf'))).toBe(true);
  });

  test('goes on without a client, and is joined under another name of the model', async () => {
    const { own, target } = await hub();
    expect(await own.downloads.start('https://huggingface.co/owner/name')).toBe('owner/name');
    const { signal } = new AbortController();
    for await (const _ of own.download('hf.co/owner/name', signal) ?? []);
    expect(await own.downloads.list()).toMatchObject([
      { model: 'owner/name', state: 'done', path: join(target, 'owner--name', 'file.gguf') },
    ]);
    expect(await own.downloads.start('http://host.example/file.gguf')).toBeUndefined();
    expect(await own.downloads.start('https://host.example/settings.kcpps')).toBeUndefined();
  });

  test('throws the reason, and no name is undefined', async () => {
    const { own } = await hub();
    const { signal } = new AbortController();
    const all = async () => {
      for await (const _ of own.download('owner/name/other.gguf', signal) ?? []);
    };
    await expect(all()).rejects.toThrow('owner/name has no other.gguf; it has file');
    expect(own.download('no name', signal)).toBeUndefined();
  });
});
