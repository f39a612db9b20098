import { mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { outputName, saveSound } from './routes.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'output-test-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('outputName', () => {
  test.each([
    ['hello.wav', 'hello.wav'],
    ['hello', 'hello.wav'],
    ['Hello World-1_2.WAV', 'Hello World-1_2.WAV'],
    ['grüße', 'grüße.wav'],
    ['a.mp3', 'a.mp3.wav'],
  ])('%s becomes %s', (sent, name) => {
    expect(outputName(sent)).toBe(name);
  });

  test.each([
    '',
    '.',
    '..',
    '../x.wav',
    '/etc/passwd',
    'a/b.wav',
    'a\\b.wav',
    'C:x.wav',
    '.hidden.wav',
    'x\0.wav',
    'con',
    'nul.wav',
    'LPT1.wav',
    'x..wav',
    'x .wav',
    'a\nb',
    'x'.repeat(200),
    '~root',
    '$(x)',
  ])('refuses %j', (sent) => {
    expect(() => outputName(sent)).toThrow(/plain file name without folders/);
  });
});

describe('saveSound', () => {
  test('writes a file for its owner only, into a new folder', async () => {
    const place = join(folder, 'new', 'speech');
    const path = await saveSound(place, 'a.wav', Buffer.from('sound'));
    expect(await readFile(path, 'utf8')).toBe('sound');
    expect((await stat(path)).mode & 0o077).toBe(0);
    expect(await readdir(place)).toEqual(['a.wav']);
  });

  test('replaces an existing file', async () => {
    await saveSound(folder, 'a.wav', Buffer.from('old'));
    await saveSound(folder, 'a.wav', Buffer.from('new'));
    expect(await readFile(join(folder, 'a.wav'), 'utf8')).toBe('new');
  });

  test('replaces a link without following it', async () => {
    const precious = join(folder, 'precious');
    await writeFile(precious, 'kept');
    await symlink(precious, join(folder, 'a.wav'));
    await saveSound(folder, 'a.wav', Buffer.from('new'));
    expect(await readFile(precious, 'utf8')).toBe('kept');
    expect(await readFile(join(folder, 'a.wav'), 'utf8')).toBe('new');
  });

  test('refuses to write into a full folder', async () => {
    await writeFile(join(folder, 'big.wav'), '');
    await truncate(join(folder, 'big.wav'), 2 ** 30);
    await expect(saveSound(folder, 'a.wav', Buffer.from('x'))).rejects.toThrow(/holds 1024 MB.*remove some files/);
    expect(await readdir(folder)).toEqual(['big.wav']);
  });

  test('several files at once do not exceed the limit of the folder', async () => {
    await writeFile(join(folder, 'big.wav'), '');
    await truncate(join(folder, 'big.wav'), 2 ** 30 - 1);
    const saves = ['a.wav', 'b.wav', 'c.wav'].map((name) => saveSound(folder, name, Buffer.from('x')));
    const results = await Promise.allSettled(saves);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await readdir(folder)).toEqual(['a.wav', 'big.wav']);
  });

  test('removes the partial file if it cannot be renamed', async () => {
    const { mkdir } = await import('node:fs/promises');
    await mkdir(join(folder, 'a.wav'));
    await expect(saveSound(folder, 'a.wav', Buffer.from('x'))).rejects.toThrow();
    expect(await readdir(folder)).toEqual(['a.wav']);
  });
});
