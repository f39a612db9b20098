import { onTestFinished } from 'vitest';
import type { RemoteAddress } from '../../../config/remote.ts';
import { BackendPool, type BackendPoolDeps } from '../backend-pool.ts';

export interface Watch {
  readonly pool: BackendPool;
  readonly lines: string[];
  /** Time that only passes when a test says so. */
  readonly clock: { now: number };
  /** Lets the shortest wait be over; undefined where nobody waits. */
  tick(): number | undefined;
  /** Resolves when a line holds these words. */
  says(words: string): Promise<void>;
}

/** Engines elsewhere that are looked at when a test wants it. */
export function poolOf(
  addresses: readonly RemoteAddress[],
  environment: Record<string, string> = {},
  identify?: BackendPoolDeps['identify'],
): Watch {
  const clock = { now: 0 };
  const lines: string[] = [];
  const listeners = new Set<() => void>();
  let waits: { readonly milliseconds: number; readonly passed: () => void }[] = [];
  const pool = new BackendPool({
    addresses,
    environment,
    ...(identify ? { identify } : {}),
    capability: 'text',
    now: () => clock.now,
    startTimer: (milliseconds, passed) => {
      const wait = { milliseconds, passed };
      waits.push(wait);
      return {
        cancel: () => {
          waits = waits.filter((one) => one !== wait);
        },
      };
    },
    log: (line) => {
      lines.push(line);
      for (const listener of listeners) listener();
    },
  });
  onTestFinished(() => pool.stop());
  return {
    pool,
    lines,
    clock,
    tick: () => {
      const [next] = waits.toSorted((one, other) => one.milliseconds - other.milliseconds);
      if (!next) return undefined;
      waits = waits.filter((one) => one !== next);
      clock.now += next.milliseconds;
      next.passed();
      return next.milliseconds;
    },
    says: (words) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!lines.some((line) => line.includes(words))) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
      }),
  };
}
