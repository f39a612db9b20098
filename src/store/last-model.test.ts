import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LastModel } from './state-files.ts';
import { freshFolders } from './testing/folder.ts';

const freshFolder = freshFolders();

function file(path = join(freshFolder(), 'state', 'model-5001.json')) {
  const warnings: string[] = [];
  const last = new LastModel({ path, warn: (sentence) => warnings.push(sentence), now: () => new Date(0) });
  return { path, last, warnings };
}

test('LastModel: keeps the choice for the next start, and forgets it', async () => {
  const { path, last } = file();
  expect(await last.read()).toBeUndefined();
  await last.write({ option: 'sub/small.kcpps', base: 'base.kcpps' });
  expect(await file(path).last.read()).toEqual({ option: 'sub/small.kcpps', base: 'base.kcpps' });
  await last.write({ option: 'a.gguf' });
  expect(await file(path).last.read()).toEqual({ option: 'a.gguf' });
  await last.write({ option: 'a.gguf', loads: { 'a.gguf': { contextsize: 4096 } } });
  expect(await file(path).last.read()).toEqual({ option: 'a.gguf', loads: { 'a.gguf': { contextsize: 4096 } } });
  await last.write(undefined);
  expect(await file(path).last.read()).toBeUndefined();
});

test('LastModel: leaves a file of a newer version alone, with a warning', async () => {
  const { path, last, warnings } = file(join(freshFolder(), 'model.json'));
  const newer = '{"file_version":2,"option":"a.gguf"}';
  writeFileSync(path, newer);
  expect(await last.read()).toBeUndefined();
  await last.write({ option: 'b.gguf' });
  expect(readFileSync(path, 'utf8')).toBe(newer);
  expect(warnings).toHaveLength(2);
  expect(warnings[0]).toContain('a newer version of Parley');
});

test('LastModel: a damaged file is no choice', async () => {
  const { path, last, warnings } = file(join(freshFolder(), 'model.json'));
  writeFileSync(path, '{"option": 5}');
  expect(await last.read()).toBeUndefined();
  expect(warnings).toEqual([expect.stringContaining('is damaged')]);
});

test('LastModel: a folder that cannot be written is a warning, not an error', async () => {
  const { path, last, warnings } = file();
  mkdirSync(path, { recursive: true });
  await last.write({ option: 'a.gguf' });
  expect(warnings).toEqual([expect.stringMatching(/^The model that is in use cannot be remembered in /)]);
});
