import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { checkFile, folderFacts } from './doctor-machine.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-doctor-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('checkFile: resolves for the right file, and says what is wrong with another', async () => {
  const path = join(folder, 'weights');
  writeFileSync(path, 'content');
  const sha256 = createHash('sha256').update('content').digest('hex');
  await checkFile(path);
  await checkFile(path, sha256);
  await expect(checkFile(path, 'other')).rejects.toThrow('is damaged');
  await expect(checkFile(join(folder, 'none'))).rejects.toThrow('is missing');
});

test('folderFacts: of a folder, and of the nearest one above it that exists', async () => {
  expect(await folderFacts(folder)).toMatchObject({ exists: true, writable: true, freeBytes: expect.any(Number) });
  expect(await folderFacts(join(folder, 'a', 'b'))).toMatchObject({ exists: false, writable: true });
});
