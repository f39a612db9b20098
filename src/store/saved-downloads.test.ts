import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { SavedDownload } from '../core/model-downloads.ts';
import { SavedDownloads } from './state-files.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-saved-downloads-'));
afterAll(() => rmSync(root, { recursive: true }));

function world() {
  const folder = join(mkdtempSync(join(root, 'state-')), 'new');
  const warnings: string[] = [];
  const path = join(folder, 'downloads-5001.json');
  const open = () => new SavedDownloads({ path, warn: (line) => void warnings.push(line), now: () => new Date(0) });
  return { folder, path, warnings, open };
}

const list: readonly SavedDownload[] = [
  { model: 'acme/foo:Q4_K_M', state: 'running', files: ['/models/acme--foo/foo.gguf'], done: 5, total: 10 },
  { model: 'acme/bar', state: 'failed', files: [], done: 0, reason: 'cannot reach hub.example' },
];

test('saved downloads: are read by the next run', async () => {
  const { open, warnings } = world();
  expect(await open().read()).toEqual([]);
  await open().write(list);
  expect(await open().read()).toEqual(list);
  await open().write([]);
  expect(await open().read()).toEqual([]);
  expect(warnings).toEqual([]);
});

test('saved downloads: without any no file is written', async () => {
  const { open, folder } = world();
  await open().write([]);
  expect(readdirSync(folder)).toEqual([]);
});

test.each(['no JSON', '[]', '{"downloads":[{"model":"x","state":"lost","files":[],"done":0}]}'])(
  'saved downloads: a damaged file is kept aside: %s',
  async (text) => {
    const { open, path, folder, warnings } = world();
    await open().write(list);
    writeFileSync(path, text);
    expect(await open().read()).toEqual([]);
    expect(warnings).toHaveLength(1);
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/damaged/)]);
  },
);
