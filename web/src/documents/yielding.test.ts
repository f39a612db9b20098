import { expect, test } from 'vitest';
import { inSlices } from './yielding.ts';

function* work(steps: number): Generator<void, string> {
  for (let step = 0; step < steps; step += 1) yield;
  return 'done';
}

/** A clock on which each look takes a millisecond. */
function clock() {
  let time = 0;
  return () => {
    time += 1;
    return time;
  };
}

test('inSlices: pauses after each slice of 8 ms', async () => {
  let pauses = 0;
  const pause = async () => {
    pauses += 1;
  };
  expect(await inSlices(work(40), { now: clock(), pause })).toBe('done');
  expect(pauses).toBeGreaterThanOrEqual(4);
});

test('inSlices: ends when it is aborted', async () => {
  const controller = new AbortController();
  const pause = async () => controller.abort();
  await expect(inSlices(work(1000), { now: clock(), pause, signal: controller.signal })).rejects.toThrow('abort');
});
