import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { isAlive, isPartName, isSnapshotName, partName, snapshotName } from './file-names.ts';

test('our own names are known again, and no others', () => {
  const name = snapshotName('ab'.repeat(32));
  expect([isSnapshotName(name), isPartName(partName(name, 7))]).toEqual([true, true]);
  expect([isSnapshotName(partName(name, 7)), isPartName(name)]).toEqual([false, false]);
  expect([isSnapshotName('x.parley-cache'), isPartName('film.part')]).toEqual([false, false]);
});

test('a process is alive until it has ended', () => {
  expect(isAlive(process.pid)).toBe(true);
  expect(isAlive(spawnSync(process.execPath, ['--version']).pid)).toBe(false);
});
