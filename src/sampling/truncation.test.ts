import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Candidates } from './candidates.ts';
import { anyLogits, candidatesOf, idsOf, weighted } from './testing/candidates.ts';
import { minP, nSigma, tailFree, topA, topK, topP, typical } from './truncation.ts';

type Cut = (candidates: Candidates, value: number) => void;
const cuts: Record<string, Cut> = { topK, topA, topP, minP, tailFree, typical, nSigma };

/** Probabilities 1/2, 1/4, 1/8, 1/8 for the tokens 1, 3, 0, 2. */
const halves = () => weighted(1, 4, 1, 2);

test.each<[string, Cut, number, number[]]>([
  ['topK', topK, 0, [0, 1, 2, 3]],
  ['topK', topK, 1, [1]],
  ['topK', topK, 3, [0, 1, 3]],
  ['topK', topK, 9, [0, 1, 2, 3]],
  ['topP', topP, 0, [1]],
  ['topP', topP, 0.49, [1]],
  ['topP', topP, 0.51, [1, 3]],
  ['topP', topP, 0.8, [0, 1, 3]],
  ['topP', topP, 1, [0, 1, 2, 3]],
  ['minP', minP, 0, [0, 1, 2, 3]],
  ['minP', minP, 0.24, [0, 1, 2, 3]],
  ['minP', minP, 0.26, [1, 3]],
  ['minP', minP, 0.51, [1]],
  ['minP', minP, 2, [1]],
  // The threshold is the value times 1/4.
  ['topA', topA, 0, [0, 1, 2, 3]],
  ['topA', topA, 0.49, [0, 1, 2, 3]],
  ['topA', topA, 0.51, [1, 3]],
  ['topA', topA, 1.1, [1]],
  ['topA', topA, 9, [1]],
  // The entropy is 1.75 ln 2; the distances to it, in ln 2, are 0.75, 0.25, 1.25, 1.25.
  ['typical', typical, 0, [3]],
  ['typical', typical, 0.24, [3]],
  ['typical', typical, 0.26, [1, 3]],
  ['typical', typical, 0.76, [0, 1, 3]],
  ['typical', typical, 1, [0, 1, 2, 3]],
])('%s with %f: kept candidates of 1/2, 1/4, 1/8, 1/8', (_, cut, value, kept) => {
  const candidates = halves();
  (cut as Cut)(candidates, value);
  expect(idsOf(candidates).sort()).toEqual(kept);
});

test('typical: drops the best candidate if its surprise is too low', () => {
  // One token of 0.4, and six of 0.1: the entropy is 1.75, the surprises are 0.92 and 2.30.
  const candidates = weighted(4, 1, 1, 1, 1, 1, 1);
  typical(candidates, 0.35);
  expect(idsOf(candidates)).toEqual([1, 2, 3, 4]);
});

test.each([
  // Probabilities .5 .3 .1 .06 .04: bends .0, .16, .02, of .18 in all, so the running shares are 0, .889, 1.
  [0.8, 1],
  [0.9, 2],
  [0.999, 2],
  [1, 5],
])('tailFree: %f keeps %i of .5 .3 .1 .06 .04', (limit, kept) => {
  const candidates = weighted(50, 30, 10, 6, 4);
  tailFree(candidates, limit);
  expect(candidates.size).toBe(kept);
});

test('tailFree: a straight curve counts evenly', () => {
  // Six equals have four bends of 1/4 each: the running shares from the second on are .5, .75, 1.
  const candidates = weighted(1, 1, 1, 1, 1, 1);
  tailFree(candidates, 0.6);
  expect(idsOf(candidates)).toEqual([0, 1]);
});

test.each([
  // The logits 5, 3, 1, 1, 0 have the mean 2 and the variance 3.2, so a deviation of 1.79.
  [0, [0, 1, 2, 3, 4]],
  [1.2, [0, 1]],
  [0.5, [0]],
  [2.4, [0, 1, 2, 3]],
  [3, [0, 1, 2, 3, 4]],
])('nSigma: %f keeps candidates within that many deviations', (width, kept) => {
  const candidates = candidatesOf([5, 3, 1, 1, 0]);
  nSigma(candidates, width);
  expect(idsOf(candidates)).toEqual(kept);
});

test('nSigma: ignores infinite logits', () => {
  const candidates = candidatesOf([5, -Infinity, 3, 1, 1, 0]);
  nSigma(candidates, 1.2);
  expect(idsOf(candidates)).toEqual([0, 2]);
});

test.each(Object.entries(cuts))('%s: leaves at least one candidate, and all but typical keep the best', (name, cut) => {
  fc.assert(
    fc.property(anyLogits(), fc.double({ min: -2, max: 12, noNaN: true }), (logits, value) => {
      const candidates = candidatesOf(logits);
      const best = candidates.highest();
      cut(candidates, value);
      expect(candidates.size).toBeGreaterThanOrEqual(1);
      if (name !== 'typical') expect(candidates.highest()).toBe(best);
    }),
  );
});
