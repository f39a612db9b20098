import { expect, onTestFinished, test, vi } from 'vitest';
import { steadyTime } from './steady-time.ts';

test.each([-1, 1])('steadyTime: counts on when the clock is set by %d years', (years) => {
  const before = steadyTime();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + years * 365 * 86_400_000 });
  onTestFinished(() => void vi.useRealTimers());
  const passed = steadyTime() - before;
  expect(passed).toBeGreaterThanOrEqual(0);
  expect(passed).toBeLessThan(86_400_000);
});
