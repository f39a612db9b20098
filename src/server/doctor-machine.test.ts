import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { checkFile, folderFacts, linuxCards } from './doctor-machine.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-doctor-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('checkFile: resolves for the right file, and says what is wrong with another', async () => {
  const path = join(folder, 'weights');
  writeFileSync(path, 'content');
  const sha256 = createHash('sha256').update('content').digest('hex');
  await checkFile(path);
  await checkFile(path, sha256);
  await expect(checkFile(path, 'other')).rejects.toThrow('is damaged');
  await expect(checkFile(join(folder, 'none'))).rejects.toThrow('is missing');
});

test('folderFacts: of a folder, and of the nearest one above it that exists', async () => {
  expect(await folderFacts(folder)).toMatchObject({ exists: true, writable: true, freeBytes: expect.any(Number) });
  expect(await folderFacts(join(folder, 'a', 'b'))).toMatchObject({ exists: false, writable: true });
});

test('linuxCards: names from the NVIDIA driver, numbers from the kernel', () => {
  const files: Record<string, string> = {
    '/proc/driver/nvidia/gpus/0000:01:00.0/information': 'Model: \t\t NVIDIA L4\nIRQ: 5\n',
    '/sys/class/drm/card0/device/vendor': '0x10de\n',
    '/sys/class/drm/card0/device/device': '0x27b8\n',
    '/sys/class/drm/card1/device/vendor': '0x1002\n',
    '/sys/class/drm/card1/device/device': '0x73bf\n',
    '/sys/class/drm/card2/device/vendor': '0x1a03\n',
  };
  const drm = ['card0', 'card0-DP-1', 'card1', 'card2', 'renderD128'];
  const list = (folders: Record<string, string[]>) => (path: string) => folders[path] ?? [];
  const read = (path: string) => files[path] ?? '';
  const nvidia = { '/proc/driver/nvidia/gpus': ['0000:01:00.0'] };
  expect(linuxCards(list({ ...nvidia, '/sys/class/drm': drm }), read)).toEqual(['NVIDIA L4', 'AMD 0x73bf']);
  expect(linuxCards(list({ '/sys/class/drm': drm }), read)).toEqual(['NVIDIA 0x27b8', 'AMD 0x73bf']);
  expect(linuxCards(list({}), read)).toEqual([]);
});
