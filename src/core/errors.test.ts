import { expect, test } from 'vitest';
import { AppError, asAppError } from './errors.ts';

test.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('asAppError: %s is a full disk', (code) => {
  const thrown = Object.assign(new Error('write'), { code });
  expect(asAppError(thrown)).toMatchObject({ code: 'disk-full', status: 507, cause: thrown });
});

test('asAppError: any other error is internal, with its message', () => {
  expect(asAppError(new Error('odd'))).toMatchObject({ code: 'internal', details: { reason: 'odd' } });
  expect(asAppError('odd')).toMatchObject({ code: 'internal', details: { reason: 'odd' } });
  const known = new AppError('busy', { retryAfterSeconds: 1 });
  expect(asAppError(known)).toBe(known);
});
