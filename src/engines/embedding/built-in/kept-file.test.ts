import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hashOf, keptFile } from './kept-file.ts';

const content = 'all that the file holds';
const sha256 = createHash('sha256').update(content).digest('hex');

let folder: string;
let made: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-kept-'));
  made = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const make = async (path: string): Promise<void> => {
  made.push(path);
  await writeFile(path, content);
};
const kept = (folders: readonly string[], own: { make?: typeof make; sha256?: string } = {}) =>
  keptFile({ name: 'it.bin', sha256, folders, make, ...own });

describe('a file that can be made', () => {
  test('is made where there is none, folders and all, and leaves nothing else behind', async () => {
    const place = join(folder, 'deep', 'down');
    expect(await kept([place])).toBe(join(place, 'it.bin'));
    expect(readdirSync(place)).toEqual(['it.bin']);
    expect(readFileSync(join(place, 'it.bin'), 'utf8')).toBe(content);
  });

  test('comes into being under another name', async () => {
    await kept([folder]);
    expect(made).toHaveLength(1);
    expect(made[0]).not.toBe(join(folder, 'it.bin'));
  });

  test('is not made again while it is whole', async () => {
    await kept([folder]);
    await kept([folder]);
    expect(made).toHaveLength(1);
  });

  test.each(['', 'all that the file hold', `${content}!`, 'something else'])(
    'damaged to %j is made anew',
    async (text) => {
      writeFileSync(join(folder, 'it.bin'), text);
      const path = await kept([folder]);
      expect(readFileSync(path, 'utf8')).toBe(content);
      expect(made).toHaveLength(1);
    },
  );

  test('is found in the second place before it is made in the first', async () => {
    const [first, second] = [join(folder, 'a'), join(folder, 'b')];
    await kept([second]);
    expect(await kept([first, second])).toBe(join(second, 'it.bin'));
    expect(existsSync(first)).toBe(false);
  });

  test('is made in the second place where the first cannot be written', async () => {
    const file = join(folder, 'no folder');
    writeFileSync(file, '');
    expect(await kept([join(file, 'under'), folder])).toBe(join(folder, 'it.bin'));
  });

  test.skipIf(process.getuid?.() === 0)('is made elsewhere where a folder is only for reading', async () => {
    chmodSync(folder, 0o500);
    const other = mkdtempSync(join(tmpdir(), 'parley-kept-'));
    try {
      expect(await kept([folder, other])).toBe(join(other, 'it.bin'));
    } finally {
      chmodSync(folder, 0o700);
      rmSync(other, { recursive: true });
    }
  });

  test('by two at the same time is whole for both', async () => {
    const paths = await Promise.all([kept([folder]), kept([folder]), kept([folder])]);
    expect(new Set(paths).size).toBe(1);
    expect(readdirSync(folder)).toEqual(['it.bin']);
    expect(await hashOf(paths[0] as string)).toBe(sha256);
  });
});

describe('a file that cannot be made', () => {
  test('is refused with a sentence that names each place and its reason', async () => {
    const full = async (path: string) => {
      writeFileSync(path, 'half');
      throw new Error('ENOSPC: no space left on device');
    };
    const places = [join(folder, 'a'), join(folder, 'b')];
    const failing = kept(places, { make: full });
    await expect(failing).rejects.toThrow(
      `it.bin could not be written (${places[0]}: ENOSPC: no space left on device; `,
    );
    await expect(failing).rejects.toThrow(places[1]);
    for (const place of places) expect(readdirSync(place)).toEqual([]);
  });

  test('that comes out other than expected is not kept', async () => {
    await expect(kept([folder], { sha256: 'f'.repeat(64) })).rejects.toThrow('it came out other than expected');
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('a file that is not there, and a folder, have no hash', async () => {
  expect(await hashOf(join(folder, 'nobody'))).toBeUndefined();
  expect(await hashOf(folder)).toBeUndefined();
});
