import { expect, test } from 'vitest';
import { snakeCase } from './snake-case.ts';

test('snakeCase: renames the members of objects and lists at any depth', () => {
  expect(snakeCase([{ doneBytes: 1, job: { totalBytes: 2, names: ['keepsValues'] } }])).toEqual([
    { done_bytes: 1, job: { total_bytes: 2, names: ['keepsValues'] } },
  ]);
});

test('snakeCase: what is not known is null', () => {
  expect(snakeCase({ path: undefined, reason: null, count: 0, isOpen: false })).toEqual({
    path: null,
    reason: null,
    count: 0,
    is_open: false,
  });
});
