import { mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { packs } from '../packs/catalogue.ts';
import { stageFolder } from '../packs/install.ts';
import { packageProblem } from './package-folder.ts';

const wanted = packs.find(({ name }) => name === 'ears')?.packages['linux-x64']?.[0];
if (!wanted) throw new Error('the catalogue has no pack ears');

/** A package as the packs install it. */
async function installed(): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'parley-package-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const { name, version } = wanted as NonNullable<typeof wanted>;
  await stageFolder(wanted as NonNullable<typeof wanted>, root, async (into) => {
    writeFileSync(join(into, 'package.json'), JSON.stringify({ name, version }));
    writeFileSync(join(into, 'model.bin'), 'weights');
  });
  return join(root, `${name}-${version}.staged`);
}

test('packageProblem: accepts an intact package', async () => {
  const folder = await installed();
  expect(packageProblem(folder, wanted.name)).toBeUndefined();
  // Copied files have other times.
  utimesSync(join(folder, 'model.bin'), new Date(), new Date(Date.now() + 60_000));
  expect(packageProblem(folder, wanted.name)).toBeUndefined();
});

test.each<[string, (folder: string) => void, string]>([
  ['a missing file', (folder) => rmSync(join(folder, 'model.bin')), 'model.bin is missing'],
  ['a truncated file', (folder) => truncateSync(join(folder, 'model.bin'), 3), 'model.bin is changed'],
  [
    'a file with other bytes of the same size',
    (folder) => {
      writeFileSync(join(folder, 'model.bin'), 'WEIGHTS');
      utimesSync(join(folder, 'model.bin'), new Date(), new Date(Date.now() + 60_000));
    },
    'model.bin is changed',
  ],
  ['a damaged package.json', (folder) => writeFileSync(join(folder, 'package.json'), '{'), 'package.json is changed'],
  [
    'a damaged list of files',
    (folder) => writeFileSync(join(folder, '.parley-manifest.json'), '{"fi'),
    '.parley-manifest.json is damaged',
  ],
])('packageProblem: names %s, and the command that repairs it', async (_, damage, sentence) => {
  const folder = await installed();
  damage(folder);
  expect(packageProblem(folder, wanted.name)).toBe(
    `the pack ears is damaged (${wanted.name}: ${sentence}). Run: parley pack repair ears`,
  );
});
