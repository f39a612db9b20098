import { expect, test } from 'vitest';
import { deferred } from './deferred.ts';
import { Mutex } from './mutex.ts';

test('Mutex: one piece of work at a time, in the order of the calls', async () => {
  const mutex = new Mutex();
  const order: string[] = [];
  const gate = deferred<void>();
  const first = mutex.run(async () => {
    order.push('first begins');
    await gate.promise;
    order.push('first ends');
  });
  const second = mutex.run(() => order.push('second'));
  await Promise.resolve();
  expect(order).toEqual(['first begins']);
  gate.resolve();
  await Promise.all([first, second]);
  expect(order).toEqual(['first begins', 'first ends', 'second']);
});

test('Mutex: work that fails rejects for its caller, and the next piece runs', async () => {
  const mutex = new Mutex();
  const failed = mutex.run(() => {
    throw new Error('no');
  });
  const next = mutex.run(async () => 'done');
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe('done');
});
