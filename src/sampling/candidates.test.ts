import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyLogits, candidatesOf, idsOf, logitsOf, probabilitiesOf, weighted } from './testing/candidates.ts';

const naiveOrder = (logits: readonly number[]): number[] =>
  logits.map((_, id) => id).sort((a, b) => (logits[b] === logits[a] ? a - b : Number(logits[b]) - Number(logits[a])));

test('sorts best first, lower ids before equals', () => {
  const candidates = candidatesOf([1, 3, -2, 3, 0, -0, -Infinity, Infinity]);
  candidates.sort();
  expect(idsOf(candidates)).toEqual([7, 1, 3, 0, 4, 5, 2, 6]);
});

test.each([
  ['few', anyLogits(128)],
  ['many', anyLogits(400, 129)],
])('sorts %s as a plain sort does', (_, logitsOfThatMany) => {
  fc.assert(
    fc.property(logitsOfThatMany, (values) => {
      const candidates = candidatesOf(values);
      const logits = logitsOf(candidates);
      candidates.sort();
      expect(idsOf(candidates)).toEqual(naiveOrder(logits));
      expect(logitsOf(candidates).map((logit) => logit + 0)).toEqual(
        naiveOrder(logits).map((id) => Number(logits[id]) + 0),
      );
    }),
  );
});

test('equals come by id even after an earlier order was lost', () => {
  const candidates = candidatesOf([1, 2, 3]);
  candidates.sort();
  candidates.logits.fill(5);
  candidates.reordered();
  candidates.sort();
  expect(idsOf(candidates)).toEqual([0, 1, 2]);
});

test('probabilities sum to 1, whatever the logits', () => {
  fc.assert(
    fc.property(anyLogits(), (values) => {
      const candidates = candidatesOf(values);
      candidates.softmax();
      expect(probabilitiesOf(candidates).reduce((sum, one) => sum + one)).toBeCloseTo(1, 5);
    }),
  );
});

test.each([
  ['nothing is possible', [-Infinity, -Infinity], [0.5, 0.5]],
  ['some are infinitely likely', [Infinity, 1, Infinity], [0.5, 0, 0.5]],
  ['what is not a number is impossible', [0, Number.NaN], [1, 0]],
])('%s', (_, logits, expected) => {
  const candidates = candidatesOf(logits);
  candidates.softmax();
  expect(probabilitiesOf(candidates)).toEqual(expected);
});

test('the entropy of four equals is ln 4', () => {
  const candidates = weighted(1, 1, 1, 1);
  candidates.softmax();
  expect(candidates.entropy()).toBeCloseTo(Math.log(4), 6);
});

test('the best of equals is the one with the lowest id, sorted or not', () => {
  for (const prepare of ['unsorted', 'sorted', 'disordered']) {
    const candidates = candidatesOf([1, 4, 4, 0]);
    if (prepare !== 'unsorted') candidates.sort();
    if (prepare === 'disordered') {
      candidates.logits.set([4, 4, 4, 0]);
      candidates.ids.set([3, 1, 2, 0]);
      candidates.reordered();
    }
    candidates.keepBest();
    expect(idsOf(candidates)).toEqual([1]);
  }
});

test('a threshold above the best keeps the best', () => {
  const candidates = candidatesOf([1, 2, 2]);
  candidates.keepAtLeast(9);
  expect(idsOf(candidates)).toEqual([1, 2]);
});
