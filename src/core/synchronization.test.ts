import { expect, test } from 'vitest';
import { deferred, Latch, Mutex, Uses } from './synchronization.ts';

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

test('Latch: releases all waiters, and no later ones', async () => {
  const latch = new Latch();
  const released: string[] = [];
  const wait = (name: string) => latch.wait().then(() => released.push(name));
  const early = [wait('a'), wait('b')];
  latch.release();
  const late = wait('c');
  await Promise.all(early);
  expect(released).toEqual(['a', 'b']);
  latch.release();
  await late;
  expect(released).toEqual(['a', 'b', 'c']);
});

test('Latch: a release without waiters does nothing', async () => {
  const latch = new Latch();
  latch.release();
  let released = false;
  const waiting = latch.wait().then(() => {
    released = true;
  });
  await Promise.resolve();
  expect(released).toBe(false);
  latch.release();
  await waiting;
});

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

test('Uses.idle: resolves at once without a use', async () => {
  await new Uses().idle();
});

test('Uses.idle: every waiter is resolved when the last use ends', async () => {
  const uses = new Uses();
  const [first, second] = [uses.begin(), uses.begin()];
  const order: string[] = [];
  const waiting = ['a', 'b', 'c'].map((name) => uses.idle().then(() => order.push(name)));
  first();
  await Promise.resolve();
  expect([order, uses.count]).toEqual([[], 1]);
  second();
  await Promise.all(waiting);
  expect([order, uses.count]).toEqual([['a', 'b', 'c'], 0]);
});

test('Uses.begin: a use ends once', () => {
  const uses = new Uses();
  const end = uses.begin();
  uses.begin();
  end();
  end();
  expect(uses.count).toBe(1);
});
