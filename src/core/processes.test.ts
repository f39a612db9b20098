import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { isAlive, startFailure } from './processes.ts';

test('isAlive: true until the process has ended', () => {
  expect(isAlive(process.pid)).toBe(true);
  expect(isAlive(spawnSync(process.execPath, ['--version']).pid)).toBe(false);
});

const failure = (code: string) => Object.assign(new Error(`spawn x ${code}`), { code });

test.each(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'])('startFailure: %s passes', (code) => {
  expect(startFailure(failure(code))).toEqual({ reason: expect.stringContaining(`(${code})`), isPassing: true });
});

test('startFailure: a missing program stays missing', () => {
  expect(startFailure(failure('ENOENT'))).toEqual({ reason: 'spawn x ENOENT', isPassing: false });
});
