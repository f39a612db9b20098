import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { packs } from '../../../packs/catalogue.ts';
import { findWhisperPack, whisperPacks } from './pack.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-ears-'));
afterAll(() => rmSync(root, { recursive: true }));

const [, base] = whisperPacks;

function installed(version: string, ...folders: readonly string[]): string {
  const folder = mkdtempSync(join(root, 'package-'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }));
  for (const each of folders) mkdirSync(join(folder, each), { recursive: true });
  return folder;
}

test('findEars: finds the folder of the model', () => {
  const folder = installed('1.0.0', 'models/Xenova/whisper-base');
  expect(findWhisperPack(base, () => folder)).toBe(join(folder, 'models', 'Xenova', 'whisper-base'));
});

test('findEars: says what to do if the pack is missing, incomplete or of another version', () => {
  expect(() => findWhisperPack(base, () => undefined)).toThrow(
    'the pack ears is not installed. Run: parley pack add ears',
  );
  expect(() => findWhisperPack(base, () => installed('1.0.0'))).toThrow('incomplete. Run: parley pack repair ears');
  expect(() => findWhisperPack(base, () => installed('0.9.0'))).toThrow('the pack ears is of another version');
});

test('earsModels: each is in the catalogue', () => {
  for (const { pack, packageName } of whisperPacks) {
    const packages = packs.find(({ name }) => name === pack)?.packages['linux-x64'];
    expect(packages?.map(({ name }) => name)).toEqual([packageName]);
  }
});
