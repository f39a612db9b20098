import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import { downloadOf, withProjector } from './downloaded-model.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-downloaded-'));
afterAll(() => rmSync(root, { recursive: true }));
const folder = join(root, 'acme--foo');
mkdirSync(folder);
const path = join(folder, 'foo-Q4_K_M.gguf');
const projector = join(folder, 'mmproj-F16.gguf');
for (const file of [path, projector]) writeFileSync(file, 'x');

async function settle({ mmproj = '', at = path, hasVision = true } = {}) {
  const lines: string[] = [];
  const options = { hasVision: () => hasVision, line: (text: string) => lines.push(text) };
  const settings = await withProjector({ ...defaultSettings, mmproj }, { path: at }, options);
  return { mmproj: settings.mmproj, lines };
}

describe('withProjector', () => {
  test('the projector of the repository', async () => {
    expect(await settle()).toEqual({ mmproj: projector, lines: [] });
  });

  test('without the pack for pictures the projector is not used, and the console names the pack', async () => {
    const { mmproj, lines } = await settle({ hasVision: false });
    expect(mmproj).toBe('');
    expect(lines).toEqual(['This model understands pictures or sound, too, with: parley pack add vision']);
  });

  test('other settings and other files stay as they are', async () => {
    expect((await settle({ mmproj: '/own.gguf' })).mmproj).toBe('/own.gguf');
    expect(await settle({ at: join(root, 'plain.gguf') })).toEqual({ mmproj: '', lines: [] });
  });
});

test('downloadOf: the repository by the folder', () => {
  expect(downloadOf(path)).toEqual({ id: 'acme/foo', folder });
  expect(downloadOf(join(folder, 'Q4', 'a.gguf'))).toEqual({ id: 'acme/foo', folder });
  expect(downloadOf('/hub/models--acme--foo/a.gguf')).toBeUndefined();
  expect(downloadOf('/models/a.gguf')).toBeUndefined();
});
