import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { mediaLibraryFolder } from './media-library.ts';

const packs = mkdtempSync(join(tmpdir(), 'packs-'));
const folder = join(packs, 'node_modules/@qvac/fabric');
const none = () => undefined;
afterAll(() => rmSync(packs, { recursive: true }));

function pack(version: string, system = `${process.platform}-${process.arch}`): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'prebuilds', system), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }));
}

test('without the package the reason says what to run', () => {
  expect(() => mediaLibraryFolder({}, none)).toThrow('@qvac/fabric; fetch it with: parley pack add vision');
  expect(() => mediaLibraryFolder({ PARLEY_PACKS: join(packs, 'nowhere') }, none)).toThrow('parley pack add vision');
});

test('the folder that PARLEY_PACKS names is looked into', () => {
  pack('0.15.0');
  expect(mediaLibraryFolder({ PARLEY_PACKS: packs }, none)).toBe(
    join(folder, 'prebuilds', `${process.platform}-${process.arch}`),
  );
});

test('another version is named, and not loaded', () => {
  pack('0.16.1');
  expect(() => mediaLibraryFolder({ PARLEY_PACKS: packs }, none)).toThrow('0.16.1 is there');
});

test('a system that the package does not serve is named', () => {
  pack('0.15.0', 'plan9-mips');
  expect(() => mediaLibraryFolder({ PARLEY_PACKS: packs }, none)).toThrow('no library for this system');
});

test('an installed package comes first', () => {
  pack('0.15.0');
  expect(mediaLibraryFolder({ PARLEY_PACKS: '/nowhere' }, () => folder)).toContain(folder);
});
