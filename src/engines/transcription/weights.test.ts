import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { packageFolder } from '../package-folder.ts';
import { checkedFile, checkText, weights } from './weights.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-weights-'));
mkdirSync(join(folder, 'dist'));
writeFileSync(join(folder, 'dist/model.onnx'), 'weights');
afterAll(() => rmSync(folder, { recursive: true }));

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const file = { package: 'a-package', path: 'dist/model.onnx', sha256: sha256('weights') };

test('a file with the right bytes is given by its path', async () => {
  expect(await checkedFile(file, () => folder)).toBe(join(folder, 'dist/model.onnx'));
});

test('one with other bytes is not loaded, and the sentence names it and its package', async () => {
  const other = { ...file, sha256: sha256('other weights') };
  await expect(checkedFile(other, () => folder)).rejects.toThrow(/model\.onnx is not what.*SHA-256.*a-package anew/);
});

test('one that is missing is told, with its package or its path', async () => {
  await expect(checkedFile(file, () => undefined)).rejects.toThrow('the package a-package is not installed');
  await expect(checkedFile({ ...file, path: 'dist/none' }, () => folder)).rejects.toThrow(/none cannot be read/);
});

test('a text is held to its hash too', () => {
  expect(() => checkText('tokens', sha256('tokens'), 'the tokens', 'p')).not.toThrow();
  expect(() => checkText('token', sha256('tokens'), 'the tokens', 'p')).toThrow(/the tokens is not what/);
});

test.each(Object.entries(weights))('the built-in %s is what it must be', async (_, built) => {
  await expect(checkedFile(built, packageFolder)).resolves.toMatch(/\.onnx$/);
});

test('a package that is not installed has no folder', () => {
  expect(packageFolder('no-such-package-anywhere')).toBeUndefined();
});
