import { expect, test } from 'vitest';
import { Random } from './random.ts';

test.each([
  [5489, [3499211612, 581869302, 3890346734, 3586334585, 545404204]],
  [1, [1791095845, 4282876139, 3093770124, 4005303368, 491263]],
])('seed %i gives the well-known first numbers', (seed, expected) => {
  const random = new Random(seed);
  expect(expected.map(() => random.nextInteger())).toEqual(expected);
});

test('the 10000th number of the usual seed is the one that the standard of C++ names', () => {
  const random = new Random(5489);
  for (let count = 1; count < 10_000; count += 1) random.nextInteger();
  expect(random.nextInteger()).toBe(4123659995);
});

test('draws lie from 0 up to 1', () => {
  const random = new Random(3);
  const draws = Array.from({ length: 5000 }, () => random.next());
  expect(Math.min(...draws)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...draws)).toBeLessThan(1);
  expect(draws.reduce((sum, one) => sum + one) / draws.length).toBeCloseTo(0.5, 1);
});
