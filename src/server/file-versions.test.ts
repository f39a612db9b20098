import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { PreparedModel } from '../models/prepared-model.ts';
import { FileVersions } from './file-versions.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-versions-'));
afterAll(() => rmSync(folder, { recursive: true }));

const model = { name: 'a' } as PreparedModel;
const fresh = { name: 'a' } as PreparedModel;

async function world(file: string) {
  const path = join(folder, file);
  const write = (text: string, seconds: number) => {
    writeFileSync(path, text);
    utimesSync(path, seconds, seconds);
  };
  let now = 1_000_000;
  write('first', 100);
  const versions = new FileVersions(() => now);
  versions.note(model, versions.of([path, undefined]), async () => fresh);
  await versions.renewed(model);
  return {
    versions,
    write,
    path,
    at: (seconds: number) => {
      now = seconds * 1000;
    },
  };
}

describe('FileVersions', () => {
  test('a model is prepared again once after its file has changed', async () => {
    const { versions, write } = await world('a.kcpps');
    expect(await versions.renewed(model)).toBeUndefined();
    write('other', 200);
    expect(await (await versions.renewed(model))?.()).toBe(fresh);
    expect(await versions.renewed(model)).toBeUndefined();
  });

  test('a changed size is a change', async () => {
    const { versions, write } = await world('size.kcpps');
    write('longer than before', 100);
    expect(await versions.renewed(model)).toBeDefined();
  });

  test('a model file that is still being written is not a change', async () => {
    const { versions, write, at } = await world('b.gguf');
    write('half', 500);
    at(501);
    expect(await versions.renewed(model)).toBeUndefined();
    at(502);
    expect(await versions.renewed(model)).toBeDefined();
  });

  test('a model file with a time of change in the future is complete: the clock was set back', async () => {
    const { versions, write, at } = await world('future.gguf');
    write('whole', 400_000_000);
    at(500);
    expect(await versions.renewed(model)).toBeDefined();
  });

  test('a missing file is not a change', async () => {
    const { versions, path } = await world('c.kcpps');
    rmSync(path);
    expect(await versions.renewed(model)).toBeUndefined();
  });

  test('a model without files never changes', async () => {
    expect(await new FileVersions(() => 0).renewed({ name: 'remote' } as PreparedModel)).toBeUndefined();
  });
});
