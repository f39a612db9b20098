import { expect, test } from 'vitest';
import { Random } from './random.ts';
import { AdaptiveP, draw } from './selection.ts';
import { candidatesOf, idsOf, logitsOf, weighted } from './testing/candidates.ts';
import { xtc } from './truncation.ts';

test.each([
  [5489, [3499211612, 581869302, 3890346734, 3586334585, 545404204]],
  [1, [1791095845, 4282876139, 3093770124, 4005303368, 491263]],
])('Random: seed %i gives the known first numbers of MT19937', (seed, expected) => {
  const random = new Random(seed);
  expect(expected.map(() => random.nextInteger())).toEqual(expected);
});

test('Random: the 10000th number of seed 5489 is that of the C++ standard', () => {
  const random = new Random(5489);
  for (let count = 1; count < 10_000; count += 1) random.nextInteger();
  expect(random.nextInteger()).toBe(4123659995);
});

test('Random.next: numbers from 0 up to 1, evenly distributed', () => {
  const random = new Random(3);
  const draws = Array.from({ length: 5000 }, () => random.next());
  expect(Math.min(...draws)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...draws)).toBeLessThan(1);
  expect(draws.reduce((sum, one) => sum + one) / draws.length).toBeCloseTo(0.5, 1);
});

/** Draws these numbers and then fails. */
function loaded(...numbers: number[]): Random {
  const random = new Random(1);
  random.next = () => {
    const next = numbers.shift();
    if (next === undefined) throw new Error('one draw too many');
    return next;
  };
  return random;
}

test.each([
  [0, 1],
  [0.49, 1],
  [0.51, 3],
  [0.76, 0],
  [0.9999999999, 2],
])('draw: %f from 1/2, 1/4, 1/8, 1/8 takes token %i', (number, token) => {
  const candidates = weighted(1, 4, 1, 2);
  const picked = draw(candidates, loaded(number));
  expect(candidates.ids[picked]).toBe(token);
});

test('draw: frequencies match the probabilities', () => {
  const random = new Random(42);
  const counts = [0, 0, 0, 0];
  for (let round = 0; round < 20_000; round += 1) {
    const candidates = weighted(1, 4, 1, 2);
    const token = candidates.ids[draw(candidates, random)] as number;
    counts[token] = (counts[token] as number) + 1;
  }
  [0.125, 0.5, 0.125, 0.25].forEach((share, token) => {
    expect((counts[token] as number) / 20_000).toBeCloseTo(share, 1.7);
  });
});

test('draw: never takes a token of probability 0', () => {
  const candidates = candidatesOf([0, -Infinity]);
  expect(draw(candidates, loaded(1 - 2 ** -32))).toBe(0);
});

test('xtc: excludes all likely candidates but the least likely of them', () => {
  const candidates = weighted(1, 4, 1, 2);
  xtc(candidates, 0.2, 0.5, loaded(0.4));
  expect(draw(candidates, loaded(0))).toBe(0);
  expect(idsOf(candidates)).toEqual([3, 0, 2, 1]);
  expect(logitsOf(candidates).at(-1)).toBeCloseTo(Math.log(4) - 999, 3);
});

test.each([
  ['the draw says no', 0.2, 0.5, [0.5]],
  ['only one is likely enough', 0.3, 0.5, [0.1]],
  ['the threshold is too high', 0.6, 0.5, []],
  ['it is off', 0.1, 0, []],
])('xtc: no change if %s', (_, threshold, probability, draws) => {
  const candidates = weighted(1, 4, 1, 2);
  const before = logitsOf(candidates).sort();
  xtc(candidates, threshold, probability, loaded(...draws));
  expect(logitsOf(candidates).sort()).toEqual(before);
});

test('xtc: does not draw for a single candidate', () => {
  xtc(weighted(1), 0.1, 1, loaded());
});

test('AdaptiveP: prefers the token nearest to the target', () => {
  const candidates = weighted(1, 4, 1, 2);
  const adaptive = new AdaptiveP(0.25, 0.5, 4);
  expect(adaptive.aim).toBeCloseTo(0.25);
  const picked = adaptive.pick(candidates, loaded(0));
  expect(candidates.ids[picked]).toBe(3);
  // Token 1 is 0.25 from the target: d = 0.25 / 0.3.
  const distance = 0.25 / 0.3;
  expect(candidates.logits[idsOf(candidates).indexOf(1)]).toBeCloseTo(5 - (10 * distance ** 2) / (1 + distance), 4);
});

test('AdaptiveP: moves the aim against the chosen probability', () => {
  const adaptive = new AdaptiveP(0.4, 0.5, 4);
  const candidates = weighted(1, 4, 1, 2);
  // The order by liking is 1 (0.5), 3 (0.25), 0 and 2: the first draw takes 1.
  expect(candidates.ids[adaptive.pick(candidates, loaded(0))]).toBe(1);
  // Sum 0.5 + 0.5 * 0.8, weight 1 + 0.5 * 2.
  expect(adaptive.aim).toBeCloseTo(0.8 - 0.9 / 2, 5);
});
