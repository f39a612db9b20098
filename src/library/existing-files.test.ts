import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Layout, ModelFolder } from './model-folders.ts';
import { pulledLines, pullModel } from './pull-model.ts';
import { sha256, testHub } from './testing/hub.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-elsewhere-'));
afterAll(() => rmSync(root, { recursive: true }));

const id = 'acme/Foo-GGUF';
const model = Buffer.alloc(5000, 1);
const projector = Buffer.alloc(700, 2);
const files = { 'Q4/Foo-Q4_K_M.gguf': model, 'mmproj-F16.gguf': projector };

function placeWith(program: string, layout: Layout, content: Readonly<Record<string, Buffer | string>>): ModelFolder {
  const folder = mkdtempSync(join(root, 'place-'));
  for (const [name, bytes] of Object.entries(content)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
  return { program, folder, layout };
}

async function pulled(modelFolders: readonly ModelFolder[], repository: Record<string, Buffer> = files) {
  const { base, stored } = await testHub({ [id]: { files: repository } });
  const folder = join(mkdtempSync(join(root, 'models-')), 'own');
  const hub = { base, token: undefined, offline: false };
  const parts = { hub, fetch, progress: () => {}, wait: async () => {}, allowsAddress: () => true };
  const result = await pullModel({ repository: id, revision: 'main', tag: undefined }, { folder, modelFolders }, parts);
  return { ...result, folder, downloads: stored.map(({ url }) => decodeURIComponent(url)) };
}

test('pullModel: uses the files that LM Studio has in the folder of the repository', async () => {
  const place = placeWith('LM Studio', 'files', {
    'acme/Foo-GGUF/Foo-Q4_K_M.gguf': model,
    'acme/Foo-GGUF/mmproj-F16.gguf': projector,
  });
  const { folder, downloads, ...result } = await pulled([place]);
  const own = join(place.folder, 'acme', 'Foo-GGUF');
  expect(result).toEqual({
    path: join(own, 'Foo-Q4_K_M.gguf'),
    projector: join(own, 'mmproj-F16.gguf'),
    program: 'LM Studio',
  });
  expect([downloads, existsSync(folder)]).toEqual([[], false]);
  expect(pulledLines(result)).toEqual([`LM Studio has it already: ${result.path}`]);
});

test('pullModel: downloads only the projector that another program does not have', async () => {
  const place = placeWith('LM Studio', 'files', { 'acme/Foo-GGUF/Foo-Q4_K_M.gguf': model });
  const { path, projector: own, folder, downloads } = await pulled([place]);
  expect(path).toContain(place.folder);
  expect(own).toBe(join(folder, 'acme--Foo-GGUF', 'mmproj-F16.gguf'));
  expect(downloads).toHaveLength(1);
});

test('pullModel: uses the weights and the projector of Ollama by their hash', async () => {
  const layers = [{ mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${sha256(model)}` }];
  const place = placeWith('Ollama', 'ollama', {
    'manifests/hf.co/acme/Foo-GGUF/Q4_K_M': JSON.stringify({ layers }),
    [`blobs/sha256-${sha256(model)}`]: model,
    [`blobs/sha256-${sha256(projector)}`]: projector,
  });
  const { path, projector: own, downloads } = await pulled([place]);
  expect(path).toBe(join(place.folder, 'blobs', `sha256-${sha256(model)}`));
  expect(own).toBe(join(place.folder, 'blobs', `sha256-${sha256(projector)}`));
  expect(downloads).toEqual([]);
});

test('pullModel: uses the cache of the hub by the hash that its files have as names', async () => {
  const place = placeWith('Hugging Face', 'hugging-face', {
    [`models--acme--Foo-GGUF/blobs/${sha256(model)}`]: model,
    [`models--acme--Foo-GGUF/blobs/${'0'.repeat(64)}`]: model,
  });
  const snapshot = (commit: string, blob: string) => {
    const folder = join(place.folder, 'models--acme--Foo-GGUF', 'snapshots', commit, 'Q4');
    mkdirSync(folder, { recursive: true });
    symlinkSync(join('..', '..', '..', 'blobs', blob), join(folder, 'Foo-Q4_K_M.gguf'));
    return join(folder, 'Foo-Q4_K_M.gguf');
  };
  // An older commit had a file of the same name and size.
  snapshot('aaa', '0'.repeat(64));
  const right = snapshot('bbb', sha256(model));
  const { path, downloads } = await pulled([place], { 'Q4/Foo-Q4_K_M.gguf': model });
  expect([path, downloads]).toEqual([right, []]);
});

test('pullModel: a file of another size, of another repository, or with missing parts is not used', async () => {
  const split = { 'Foo-Q4_K_M-00001-of-00002.gguf': model, 'Foo-Q4_K_M-00002-of-00002.gguf': model };
  const modelFolders = [
    placeWith('LM Studio', 'files', { 'acme/Foo-GGUF/Foo-Q4_K_M.gguf': model.subarray(1) }),
    placeWith('LM Studio', 'files', { 'other/Foo-GGUF/Foo-Q4_K_M.gguf': model }),
  ];
  expect((await pulled(modelFolders)).downloads).toHaveLength(2);
  const half = placeWith('LM Studio', 'files', { 'acme/Foo-GGUF/Foo-Q4_K_M-00001-of-00002.gguf': model });
  expect((await pulled([half], split)).downloads).toHaveLength(2);
});
