import { expect, test } from 'vitest';
import { deferred } from './deferred.ts';

test('deferred: the first call settles the promise', async () => {
  const one = deferred<number>();
  one.resolve(1);
  one.resolve(2);
  expect(await one.promise).toBe(1);
  const other = deferred<number>();
  other.reject(new Error('no'));
  other.resolve(1);
  await expect(other.promise).rejects.toThrow('no');
});
