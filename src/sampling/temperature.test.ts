import { expect, test } from 'vitest';
import { dynamicTemperature, smoothing, temperature } from './temperature.ts';
import { candidatesOf, idsOf, logitsOf } from './testing/candidates.ts';

test('temperature: divides the logits', () => {
  const candidates = candidatesOf([2, -1]);
  temperature(candidates, 0.5);
  expect(logitsOf(candidates)).toEqual([4, -2]);
});

test.each([0, -1, 1e-45])('temperature: %f keeps only the best', (value) => {
  const candidates = candidatesOf([2, 7, 7, -1]);
  temperature(candidates, value);
  expect(idsOf(candidates)).toEqual([1]);
});

test('dynamicTemperature: the highest value for equal candidates', () => {
  const candidates = candidatesOf([3, 3]);
  dynamicTemperature(candidates, 1, 0.5, 1);
  expect(logitsOf(candidates)).toEqual([2, 2]);
});

test('dynamicTemperature: the exponent shapes the values in between', () => {
  // Probabilities 1/2, 1/4, 1/8, 1/8: the entropy is 1.75 ln 2 of at most 2 ln 2.
  const logits = [4, 2, 1, 1].map((weight) => Math.log(weight));
  const candidates = candidatesOf(logits);
  dynamicTemperature(candidates, 1, 0.5, 2);
  const expected = 0.5 + 1 * (1.75 / 2) ** 2;
  logitsOf(candidates).forEach((logit, index) => {
    expect(logit).toBeCloseTo((logits[index] as number) / expected, 5);
  });
});

test('dynamicTemperature: not below 0, which keeps only the best', () => {
  const candidates = candidatesOf([1000, 0]);
  dynamicTemperature(candidates, 0.5, 2, 1);
  expect(idsOf(candidates)).toEqual([0]);
});

test('dynamicTemperature: no change for a single candidate', () => {
  const candidates = candidatesOf([3]);
  dynamicTemperature(candidates, 1, 0.5, 1);
  expect(logitsOf(candidates)).toEqual([3]);
});

test.each([
  // Distances 0, -1, -2; the square has the weight -(3-c)/2 f, the cube (c-1)/2 f.
  [0, 1, [5, 4, 3]],
  [0.5, 1, [5, 4.5, 3]],
  [1, 2, [5, 4, -1]],
  [0.5, 3, [5, 4.5, 1]],
])('smoothing: factor %f, curve %f', (factor, curve, expected) => {
  const candidates = candidatesOf([5, 4, 3]);
  smoothing(candidates, factor, curve);
  expect(logitsOf(candidates)).toEqual(expected);
});

test('smoothing: a curve that is not monotonic marks the order as lost', () => {
  const candidates = candidatesOf([0, -1, -8]);
  candidates.sort();
  smoothing(candidates, 1, 0);
  candidates.sort();
  expect(idsOf(candidates)).toEqual([2, 0, 1]);
});
