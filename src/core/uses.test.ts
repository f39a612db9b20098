import { expect, test } from 'vitest';
import { Uses } from './uses.ts';

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
