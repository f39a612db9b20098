import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tensorTypes } from './gguf.ts';

const folder = join(import.meta.dirname, '../../node_modules/@node-llama-cpp/linux-x64-vulkan/bins/linux-x64-vulkan');
const library = join(folder, 'libggml-base.so');
const available = process.platform === 'linux' && process.arch === 'x64' && existsSync(library);
if (!available)
  console.warn('The table of tensor types is not compared here: the test knows the library for linux-x64 only.');

test.skipIf(!available)('tensorTypes: same ids and sizes as the library', () => {
  const ggml = createRequire(import.meta.url)('koffi').load(library);
  const name = ggml.func('const char *ggml_type_name(int type)');
  const block = ggml.func('int64 ggml_blck_size(int type)');
  const bytes = ggml.func('size_t ggml_type_size(int type)');
  const theirs = Object.values(tensorTypes).map(({ id }) => [
    name(id).toUpperCase(),
    { id, block: Number(block(id)), bytes: Number(bytes(id)) },
  ]);
  expect(Object.fromEntries(theirs)).toEqual(tensorTypes);
});
