import { array, assert, integer, nat, option, property, record } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isDelayed, type LeavingModel, maxDelayMs, stayMs, type WaitingRequest } from './swap-order.ts';

const limits = { seconds: 30, swaps: 2 };
const waiting = (order: number, delayedMs = 0, loadMs?: number): WaitingRequest => ({ order, delayedMs, loadMs });
const model = (running: readonly number[], queued: readonly number[] = []): LeavingModel => ({ running, queued });

describe('maxDelayMs', () => {
  test('the shorter of seconds and swaps, where the load time is known', () => {
    expect(maxDelayMs(limits, undefined)).toBe(30_000);
    expect(maxDelayMs(limits, 4000)).toBe(8000);
    expect(maxDelayMs(limits, 40_000)).toBe(30_000);
  });

  test('either limit of 0 means in order', () => {
    expect(maxDelayMs({ seconds: 0, swaps: 2 }, 4000)).toBe(0);
    expect(maxDelayMs({ seconds: 30, swaps: 0 }, undefined)).toBe(0);
  });
});

describe('stayMs', () => {
  test('a model without requests leaves at once', () => {
    expect(stayMs(model([]), [waiting(1)], limits)).toBe(0);
  });

  test('queued requests that came earlier go first, whatever the limits', () => {
    expect(stayMs(model([], [1]), [waiting(2, 60_000)], { seconds: 0, swaps: 0 })).toBe(Number.POSITIVE_INFINITY);
  });

  test('later requests may join while an earlier one runs, and end with it in order', () => {
    expect(stayMs(model([1], [3]), [waiting(2)], limits)).toBe(Number.POSITIVE_INFINITY);
    expect(stayMs(model([1], [3]), [waiting(2)], { seconds: 0, swaps: 2 })).toBe(0);
    expect(stayMs(model([1], [3]), [waiting(2, 30_000)], limits)).toBe(0);
  });

  test('later requests go first for what is left of the delay', () => {
    expect(stayMs(model([3], [4]), [waiting(2, 12_000)], limits)).toBe(18_000);
    expect(stayMs(model([3]), [waiting(2, 3000, 4000)], limits)).toBe(5000);
  });

  const order = nat(40);
  const anyModel = record({ running: array(order, { maxLength: 4 }), queued: array(order, { maxLength: 4 }) });
  const anyWaiting = array(record({ order, delayedMs: nat(40_000), loadMs: option(nat(30_000), { nil: undefined }) }), {
    minLength: 1,
    maxLength: 6,
  });
  const anyLimits = record({ seconds: integer({ min: 0, max: 30 }), swaps: integer({ min: 0, max: 4 }) });

  test('no request is delayed beyond its limit, and each further one only shortens the stay', () => {
    assert(
      property(anyModel, anyWaiting, anyLimits, (leaving, all, own) => {
        const stay = stayMs(leaving, all, own);
        for (const one of all) {
          expect(stay).toBeLessThanOrEqual(stayMs(leaving, [one], own));
          if (isDelayed(one, leaving))
            expect(stay).toBeLessThanOrEqual(Math.max(0, maxDelayMs(own, one.loadMs) - one.delayedMs));
        }
      }),
    );
  });
});
