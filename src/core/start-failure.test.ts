import { expect, test } from 'vitest';
import { startFailure } from './start-failure.ts';

const failure = (code: string) => Object.assign(new Error(`spawn x ${code}`), { code });

test.each(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'])('startFailure: %s passes', (code) => {
  expect(startFailure(failure(code))).toEqual({ reason: expect.stringContaining(`(${code})`), isPassing: true });
});

test('startFailure: a missing program stays missing', () => {
  expect(startFailure(failure('ENOENT'))).toEqual({ reason: 'spawn x ENOENT', isPassing: false });
});
