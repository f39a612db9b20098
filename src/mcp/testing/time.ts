import type { StartTimeout } from '../../core/timers.ts';

/** A manual clock: runs due timers in order, and lets promises settle between them. */
export function handTime() {
  let now = 0;
  const timers = new Set<{ at: number; passed: () => void }>();
  const startTimer: StartTimeout = (milliseconds, passed) => {
    const timer = { at: now + milliseconds, passed };
    timers.add(timer);
    return { cancel: () => void timers.delete(timer) };
  };
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const pass = async (milliseconds: number): Promise<void> => {
    const until = now + milliseconds;
    await settle();
    for (;;) {
      const [next] = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (!next) break;
      timers.delete(next);
      now = Math.max(now, next.at);
      next.passed();
      await settle();
    }
    now = until;
  };
  return { startTimer, now: () => now, pass, settle, waiting: () => timers.size };
}
