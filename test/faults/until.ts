import { setTimeout as pause } from 'node:timers/promises';

/** Asks again while it throws or gives false. Rejects with the last reason after the limit. */
export async function until<Value>(
  ask: () => Value | false | Promise<Value | false>,
  limitMs = 60_000,
): Promise<Value> {
  const end = performance.now() + limitMs;
  for (let last: unknown = new Error('it did not become true in time'); ; ) {
    try {
      const value = await ask();
      if (value !== false) return value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) throw last;
    await pause(20);
  }
}
