import { expect, test } from 'vitest';
import { Latch } from './latch.ts';

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
