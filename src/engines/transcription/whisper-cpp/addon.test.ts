import { expect, test } from 'vitest';
import { unlessStopped } from './addon.ts';

function run() {
  const calls: string[] = [];
  const signal = new AbortController();
  const never = new Promise<string>(() => {});
  const stop = async () => void calls.push('stop');
  return { calls, signal, never, stop };
}

test('unlessStopped: settles with the run', async () => {
  const { signal, stop, calls } = run();
  expect(await unlessStopped({ promise: Promise.resolve('heard'), stop }, signal.signal)).toBe('heard');
  const broken = Promise.reject(new Error('deaf'));
  await expect(unlessStopped({ promise: broken, stop }, signal.signal)).rejects.toThrow('deaf');
  expect(calls).toEqual([]);
});

test('unlessStopped: rejects on abort, though the addon never settles', async () => {
  const { signal, stop, calls, never } = run();
  const heard = unlessStopped({ promise: never, stop }, signal.signal);
  signal.abort(new Error('gone'));
  await expect(heard).rejects.toThrow('gone');
  expect(calls).toEqual(['stop']);
});
