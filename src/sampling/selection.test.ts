import { expect, test } from 'vitest';
import { Random } from './random.ts';
import { Mirostat } from './selection.ts';
import { candidatesOf, idsOf, weighted } from './testing/candidates.ts';

test('Mirostat 2: cuts by mu, draws and updates mu', () => {
  const mirostat = new Mirostat(2, 1, 0.1, 4);
  expect(mirostat.mu).toBe(2);
  // Surprises 1, 2, 3, 3: the two of 3 bits go. Left are 2/3 and 1/3.
  const candidates = weighted(4.001, 2.001, 1, 0.998);
  const picked = mirostat.pick(candidates, new Random(1));
  expect(idsOf(candidates)).toEqual([0, 1]);
  const surprise = -Math.log2(candidates.probabilities[picked] as number);
  expect(mirostat.mu).toBeCloseTo(2 - 0.1 * (surprise - 1), 5);
});

test('Mirostat 2: keeps one candidate if all exceed mu', () => {
  const mirostat = new Mirostat(2, 0.1, 0.1, 4);
  const candidates = weighted(1, 1, 1, 1);
  mirostat.pick(candidates, new Random(1));
  expect(idsOf(candidates)).toEqual([0]);
});

test('Mirostat 1: keeps candidates by the slope of the distribution', () => {
  // Probabilities like (rank)^-2 have a slope of exactly 2: k = (2^mu / (1 - 1/V))^(1/2).
  const candidates = weighted(...Array.from({ length: 50 }, (_, index) => (index + 1) ** -2));
  const mirostat = new Mirostat(1, 2.5, 0.1, 50);
  mirostat.pick(candidates, new Random(1));
  expect(candidates.size).toBe(Math.floor(Math.sqrt(32 / (1 - 1 / 50))));
});

test('Mirostat 1: uses the limit at a slope of 1', () => {
  const candidates = weighted(...Array.from({ length: 50 }, (_, index) => 1 / (index + 1)));
  const mirostat = new Mirostat(1, 2, 0.1, 50);
  mirostat.pick(candidates, new Random(1));
  expect(candidates.size).toBe(Math.floor(16 / Math.log(50)));
});

test.each([1, 2] as const)('Mirostat %i: one candidate, equal ones, impossible ones', (version) => {
  for (const logits of [[3], [1, 1, 1], [2, -Infinity, -Infinity], [1000, -1000]]) {
    const mirostat = new Mirostat(version, 5, 0.1, 32_000);
    const candidates = candidatesOf(logits);
    const picked = mirostat.pick(candidates, new Random(2));
    expect(candidates.probabilities[picked]).toBeGreaterThan(0);
    expect(mirostat.mu).not.toBeNaN();
  }
});
