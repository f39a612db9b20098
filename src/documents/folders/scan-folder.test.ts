import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshFolders } from '../../store/testing/folder.ts';
import { type ScanReport, scanFolder } from './scan-folder.ts';

const freshFolder = freshFolders();

test('scanFolder: says that files were left out only if there are more than the limit', async () => {
  const path = freshFolder();
  const scanned = async (): Promise<{ files: number; report: ScanReport }> => {
    const rules = { path, include: [], exclude: [], maxFileBytes: 1000 };
    const scan = scanFolder(rules, { signal: new AbortController().signal, limits: { files: 2, entries: 100 } });
    for (let files = 0; ; files += 1) {
      const { done, value } = await scan.next();
      if (done) return { files, report: value };
    }
  };
  for (const name of ['a.md', 'b.md']) writeFileSync(join(path, name), name);
  expect(await scanned()).toMatchObject({ files: 2, report: { notes: [] } });
  writeFileSync(join(path, 'c.md'), 'c');
  expect(await scanned()).toMatchObject({ files: 2, report: { notes: ['Only the first 2 files are indexed.'] } });
});

test.skipIf(process.platform === 'win32' || process.getuid?.() === 0)(
  'scanFolder: names folders that could not be read, and gives the files of the others',
  async () => {
    const path = freshFolder();
    for (const name of ['closed', 'unlisted', 'open']) {
      mkdirSync(join(path, name));
      writeFileSync(join(path, name, 'a.md'), name);
    }
    chmodSync(join(path, 'closed'), 0o000);
    // Its names can be listed, and nothing is known about them.
    chmodSync(join(path, 'unlisted'), 0o600);
    const rules = { path, include: [], exclude: [], maxFileBytes: 1000 };
    const scan = scanFolder(rules, { signal: new AbortController().signal });
    expect(await scan.next()).toMatchObject({ value: { path: 'open/a.md' } });
    const { value } = await scan.next();
    expect(value).toMatchObject({
      unread: new Set(['closed', 'unlisted']),
      notes: ['2 folders could not be read (closed): what was indexed there stays.'],
    });
    for (const name of ['closed', 'unlisted']) chmodSync(join(path, name), 0o700);
  },
);

test.skipIf(process.platform !== 'linux')('scanFolder: names that are not UTF-8 are counted and said', async () => {
  const path = freshFolder();
  const named = (name: string): Buffer => Buffer.concat([Buffer.from(`${path}/`), Buffer.from(name, 'latin1')]);
  for (const name of ['caf\u00e9.md', 'na\u00efve.md']) writeFileSync(named(name), name);
  mkdirSync(named('\u00fcber'));
  // These are UTF-8, with the character that others are replaced with.
  writeFileSync(join(path, 'a\ufffd.md'), 'a');
  const found: string[] = [];
  const scan = scanFolder(
    { path, include: [], exclude: [], maxFileBytes: 1000 },
    { signal: new AbortController().signal },
  );
  let next = await scan.next();
  for (; !next.done; next = await scan.next()) found.push(next.value.path);
  expect(found).toEqual(['a\ufffd.md']);
  expect(next.value.notes).toEqual(['3 names are not UTF-8 and left out: rename them.']);
});
