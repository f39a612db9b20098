import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { unlessAborted } from './unless-aborted.ts';

const never = new Promise<void>(() => undefined);

test('unlessAborted: settles as the work does', async () => {
  const { signal } = new AbortController();
  expect(await unlessAborted(Promise.resolve(7), signal)).toBe(7);
  await expect(unlessAborted(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken');
  expect(await unlessAborted(Promise.resolve(8), undefined)).toBe(8);
});

test('unlessAborted: rejects with the reason of the signal, also if already aborted', async () => {
  const stop = new AbortController();
  const waiting = unlessAborted(never, stop.signal);
  stop.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  await expect(unlessAborted(never, stop.signal)).rejects.toThrow('gone');
});

test('unlessAborted: removes its listener when the work is done', async () => {
  const { signal } = new AbortController();
  await unlessAborted(Promise.resolve(), signal);
  await Promise.resolve();
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
