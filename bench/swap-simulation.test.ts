import { array, assert, asyncProperty, constantFrom, integer, nat, record } from 'fast-check';
import { expect, test } from 'vitest';
import { maxDelayMs } from '../src/models/swap-order.ts';
import { inOrder, type SwapTraffic, simulateSwaps } from './swap-simulation.ts';

const second = 1000;
const request = (atMs: number, model: string, ms: number) => ({ atMs: atMs * second, model, ms: ms * second });
const two = { a: 10 * second, b: 10 * second };
const waits = async (traffic: SwapTraffic, seconds: number) => {
  const { waitedMs, loads } = await simulateSwaps(traffic, () => ({ seconds, swaps: 100 }));
  return { waits: waitedMs.map((one) => one / second), loads };
};

test('swaps: in the order of arrival, requests that alternate cost a swap each', async () => {
  const requests = [request(0, 'a', 5), request(1, 'b', 5), request(2, 'a', 5), request(3, 'b', 5)];
  const traffic = { requests, loadMs: two, room: 1, parallel: 1 };
  expect(await waits(traffic, 0)).toEqual({ waits: [10, 24, 38, 52], loads: 4 });
  expect(await waits(traffic, 30)).toEqual({ waits: [10, 29, 13, 32], loads: 2 });
});

test('swaps: what came earlier for the loaded model goes first', async () => {
  const requests = [request(0, 'a', 5), request(1, 'a', 5), request(2, 'b', 5)];
  expect(await waits({ requests, loadMs: two, room: 1, parallel: 1 }, 0)).toEqual({ waits: [10, 14, 28], loads: 2 });
});

test('swaps: a stream of later requests delays another model for the limit and the last of them', async () => {
  const requests = [...Array.from({ length: 30 }, (_, index) => request(index * 5, 'a', 5)), request(11, 'b', 1)];
  requests.sort((a, b) => a.atMs - b.atMs);
  const { waitedMs } = await simulateSwaps({ requests, loadMs: two, room: 1, parallel: 4 }, () => ({
    seconds: 20,
    swaps: 100,
  }));
  const wait = (waitedMs[requests.findIndex(({ model }) => model === 'b')] as number) / second;
  expect(wait).toBeGreaterThan(20);
  expect(wait).toBeLessThanOrEqual(10 + 20 + 5 + 10);
});

const arrivals = array(
  record({ afterMs: nat(6000), model: constantFrom('a', 'b', 'c'), ms: integer({ min: 1, max: 8000 }) }),
  { minLength: 2, maxLength: 25 },
);
const traffics = record({
  arrivals,
  loadMs: record({ a: nat(9000), b: nat(9000), c: nat(9000) }),
  room: integer({ min: 1, max: 2 }),
  parallel: integer({ min: 1, max: 3 }),
}).map(({ arrivals: all, ...others }): SwapTraffic => {
  let atMs = 0;
  const requests = all.map(({ afterMs, model, ms }) => {
    atMs += afterMs;
    return { atMs, model, ms };
  });
  return { requests, ...others };
});
const limitsOf = record({ seconds: nat(20), swaps: nat(4) });

test('swaps: with any traffic, every request is served, and none waits longer than the limit and the last requests before a swap', async () => {
  await assert(
    asyncProperty(traffics, limitsOf, nat(24), async (traffic, limits, at) => {
      const { requests } = traffic;
      const index = at % requests.length;
      const own = requests[index] as SwapTraffic['requests'][number];
      const outcome = await simulateSwaps(traffic, () => limits);
      expect(outcome.waitedMs.every(Number.isFinite)).toBe(true);
      // From its arrival on in order, and nothing comes after it.
      const before = { ...traffic, requests: requests.slice(0, index + 1) };
      const ordered = await simulateSwaps(before, (now) => (now < own.atMs ? limits : inOrder));
      const longest = Math.max(...requests.map(({ ms }) => ms));
      const waited = outcome.waitedMs[index] as number;
      const loads = outcome.loadsSeen[index] as number;
      // Requests that wait for a model begin together when it is loaded, and finish before the next swap.
      const finishing = longest * Math.max(1, loads);
      const limit = (ordered.waitedMs[index] as number) + maxDelayMs(limits, undefined) + finishing;
      expect(waited).toBeLessThanOrEqual(limit);
      // With room for several, models are loaded meanwhile that it does not wait for.
      if (traffic.room === 1) expect(loads).toBeLessThanOrEqual(ordered.loadsSeen[index] as number);
    }),
    { numRuns: 300 },
  );
}, 120_000);
