import { expect, test } from 'vitest';
import { unlessStopped } from './whisper.ts';

function run() {
  const calls: string[] = [];
  const signal = new AbortController();
  const never = new Promise<string>(() => {});
  const stop = async () => void calls.push('stop');
  return { calls, signal, never, stop };
}

test('a run that nobody stops gives its result, or its error', async () => {
  const { signal, stop, calls } = run();
  expect(await unlessStopped({ promise: Promise.resolve('heard'), stop }, signal.signal)).toBe('heard');
  const broken = Promise.reject(new Error('deaf'));
  await expect(unlessStopped({ promise: broken, stop }, signal.signal)).rejects.toThrow('deaf');
  expect(calls).toEqual([]);
});

test('one that was told to stop ends with the reason, though the addon never says so', async () => {
  const { signal, stop, calls, never } = run();
  const heard = unlessStopped({ promise: never, stop }, signal.signal);
  signal.abort(new Error('gone'));
  await expect(heard).rejects.toThrow('gone');
  expect(calls).toEqual(['stop']);
});
