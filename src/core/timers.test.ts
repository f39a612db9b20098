import { expect, test } from 'vitest';
import { systemTimer } from './timers.ts';

test('systemTimer: passes again when it is restarted after it has passed', async () => {
  let count = 0;
  await new Promise<void>((resolve) => {
    const timer = systemTimer(1, () => {
      count += 1;
      if (count === 3) resolve();
      else timer.restart();
    });
  });
  expect(count).toBe(3);
});

test('systemTimer: passes when it is restarted after it was cancelled', () =>
  new Promise<void>((resolve) => {
    const timer = systemTimer(1, resolve);
    timer.cancel();
    timer.restart();
  }));

test('systemTimer: does not pass once it is cancelled', async () => {
  let passed = false;
  const timer = systemTimer(1, () => {
    passed = true;
  });
  timer.restart();
  timer.cancel();
  // Timers pass in the order of their times.
  await new Promise<void>((resolve) => void systemTimer(5, resolve));
  expect(passed).toBe(false);
});
