import { expect, test } from 'vitest';
import { ContentionWatch, contentionWatch, type WaitingTimes, waitingThreads } from './contention.ts';

/** Three threads, after the first 25 ms; `tick` lets 25 ms more pass in which each waits for these milliseconds. */
function world() {
  const waited = [0, 0, 0];
  let [now, running] = [0, true];
  let action = () => {};
  const times = (): WaitingTimes => new Map(waited.map((time, index) => [String(index), time]));
  const watch = new ContentionWatch(times, {
    now: () => now,
    every: (_, called) => {
      action = called;
      return () => {
        running = false;
      };
    },
  });
  const reported: number[] = [];
  const stop = watch.start((waiting) => reported.push(waiting));
  const tick = (...waits: number[]) => {
    now += 25;
    for (const [index, wait] of waits.entries()) waited[index] = (waited[index] as number) + wait;
    if (running) action();
  };
  tick(20, 20, 20);
  return { tick, reported, stop };
}

test('ContentionWatch: reports once if two threads wait in three windows in a row', () => {
  const { tick, reported } = world();
  tick(10, 12, 0);
  tick(10, 12, 20);
  expect(reported).toEqual([]);
  tick(10, 0, 11);
  tick(10, 10, 10);
  expect(reported).toEqual([2]);
});

test('ContentionWatch: does not report a short task of another program', () => {
  const { tick, reported } = world();
  for (let turn = 0; turn < 4; turn += 1) {
    tick(15, 0, 0);
    tick(15, 0, 0);
    tick(1, 2, 0);
  }
  expect(reported).toEqual([]);
});

test('ContentionWatch: does not report contention that begins late or after the step', () => {
  const late = world();
  for (let turn = 0; turn < 10; turn += 1) late.tick(0, 0, 0);
  const over = world();
  over.stop();
  for (const { tick } of [late, over]) for (let turn = 0; turn < 4; turn += 1) tick(20, 20, 20);
  expect([...late.reported, ...over.reported]).toEqual([]);
});

test('waitingThreads: ignores new and ended threads', () => {
  const before = new Map([
    ['1', 100],
    ['2', 0],
  ]);
  const after = new Map([
    ['1', 115],
    ['3', 50],
  ]);
  expect(waitingThreads(before, after, 20)).toBe(1);
});

test.skipIf(process.platform !== 'linux')(
  'contentionWatch: on Linux, reads how long the threads of a process wait',
  () => {
    const stop = contentionWatch(() => 0)?.start(() => {});
    expect(stop).toBeTypeOf('function');
    stop?.();
  },
);
