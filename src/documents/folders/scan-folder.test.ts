import { writeFileSync } from 'node:fs';
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
