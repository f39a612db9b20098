import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { numberOf, readGguf } from '../gguf/gguf.ts';
import { packageFolder } from './package-folder.ts';
import { checkedWeights, embeddingModel, weights } from './weights.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-weights-'));
writeFileSync(join(folder, 'model.onnx'), 'weights');
afterAll(() => rmSync(folder, { recursive: true }));

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const file = { file: 'model.onnx', sha256: sha256('weights') };

describe('checkedWeights', () => {
  test('returns the path of a file whose hash is right', async () => {
    expect(await checkedWeights(file, folder)).toBe(join(folder, 'model.onnx'));
  });

  test('throws for a file with another hash, with its path and what to do', async () => {
    const other = { ...file, sha256: sha256('other weights') };
    await expect(checkedWeights(other, folder)).rejects.toThrow(/model\.onnx is damaged.*reinstall Parley/);
  });

  test('throws for a missing file, with its path and what to do', async () => {
    const none = { ...file, file: 'none.onnx' };
    await expect(checkedWeights(none, folder)).rejects.toThrow(/none\.onnx cannot be read.*reinstall Parley/);
  });

  test.each(Object.entries(weights))('finds %s as the build made it', async (_, built) => {
    await expect(checkedWeights(built)).resolves.toContain(built.file);
  });
});

test('the embeddings model has the size that is planned with, and the layers of MiniLM', async () => {
  const path = await checkedWeights(weights.miniLm);
  expect(statSync(path).size).toBe(embeddingModel.bytes);
  const header = await readGguf(path);
  expect(header.architecture).toBe('bert');
  expect(numberOf(header, 'bert.embedding_length')).toBe(384);
  expect(header.tensors).toHaveLength(5 + 6 * 16);
});

test('packageFolder: returns undefined for a package that is not installed', () => {
  expect(packageFolder('no-such-package-anywhere')).toBeUndefined();
});
