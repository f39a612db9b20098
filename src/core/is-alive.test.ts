import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { isAlive } from './is-alive.ts';

test('isAlive: true until the process has ended', () => {
  expect(isAlive(process.pid)).toBe(true);
  expect(isAlive(spawnSync(process.execPath, ['--version']).pid)).toBe(false);
});
