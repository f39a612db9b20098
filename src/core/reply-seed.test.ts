import { expect, test } from 'vitest';
import { withReplySeed } from './reply-seed.ts';
import { defaultSampling } from './sampling-fields.ts';

const seedOf = (seed: number, reply: number): number =>
  withReplySeed({ sampling: { ...defaultSampling, seed } }, reply).sampling.seed;

test('the first reply has the seed itself, and the others count up from it', () => {
  expect([0, 1, 2].map((reply) => seedOf(7, reply))).toEqual([7, 8, 9]);
});

test('a seed that is to be drawn stays so', () => {
  expect([seedOf(-1, 1), seedOf(0, 3)]).toEqual([-1, 0]);
});

test('the largest seed is followed by the smallest', () => expect(seedOf(2 ** 32 - 1, 1)).toBe(1));
