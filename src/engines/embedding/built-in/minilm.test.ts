import { mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readGguf } from '../../../gguf/read.ts';
import { numberOf } from '../../../gguf/types.ts';
import { builtInModel } from './facts.ts';
import { hashOf } from './kept-file.ts';
import { builtInFile } from './minilm.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-minilm-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the built-in model is made from its package, bit for bit the one that is known', async () => {
  const path = await builtInFile([folder]);
  expect(path).toBe(join(folder, 'all-MiniLM-L6-v2.gguf'));
  expect(statSync(path).size).toBe(builtInModel.bytes);
  expect(await hashOf(path)).toBe(builtInModel.sha256);
  const header = await readGguf(path);
  expect(header.architecture).toBe('bert');
  expect(numberOf(header, 'bert.embedding_length')).toBe(384);
  expect(header.tensors).toHaveLength(5 + 6 * 16);
});

test('one that was cut off is made again', async () => {
  const path = await builtInFile([folder]);
  truncateSync(path, 1000);
  expect(await builtInFile([folder])).toBe(path);
  expect(statSync(path).size).toBe(builtInModel.bytes);
});
