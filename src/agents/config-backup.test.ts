import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigBackups } from './config-backup.ts';

let folder = '';
let backups: ConfigBackups;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-backup-'));
  backups = new ConfigBackups(join(folder, 'agents'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('ConfigBackups', () => {
  test('restores every byte, however often the file was changed', async () => {
    const path = join(folder, 'config.toml');
    const bytes = Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0x0d, 0x0a, 0xff]);
    writeFileSync(path, bytes);
    await backups.change('a', path, (text) => `${text}1`);
    await backups.change('a', path, () => '2');
    expect(readFileSync(path, 'utf8')).toBe('2');
    expect(await backups.restore('a')).toEqual({ path });
    expect(readFileSync(path)).toEqual(bytes);
    expect(await backups.restore('a')).toBeUndefined();
  });

  test('deletes a file that was not there', async () => {
    const path = join(folder, 'deep', 'config.json');
    await backups.change('a', path, (text) => `${text}`);
    expect(readFileSync(path, 'utf8')).toBe('undefined');
    await backups.restore('a');
    expect(existsSync(path)).toBe(false);
  });

  test('keeps what was written to the file since', async () => {
    const path = join(folder, 'config.json');
    writeFileSync(path, 'own');
    await backups.change('a', path, () => 'ours');
    writeFileSync(path, 'edited');
    const changed = `${path}.before-restore`;
    expect(await backups.restore('a')).toEqual({ path, changed });
    expect([path, changed].map((file) => readFileSync(file, 'utf8'))).toEqual(['own', 'edited']);
  });

  test('a change that fails leaves the file and no backup', async () => {
    const path = join(folder, 'config.json');
    writeFileSync(path, 'own');
    const failing = backups.change('a', path, () => {
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await backups.restore('a')).toBeUndefined();
    expect(readFileSync(path, 'utf8')).toBe('own');
  });
});
