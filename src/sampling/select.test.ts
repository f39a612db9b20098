import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Candidates } from './candidates.ts';
import { Random } from './random.ts';
import { keepHighest, trimToHighest } from './select.ts';
import { candidatesOf, idsOf, logitsOf } from './testing/candidates.ts';

function naive(logits: Float32Array, count: number): number[] {
  const value = (id: number): number => (Number.isNaN(logits[id]) ? -Infinity : (logits[id] as number));
  return Array.from(logits.keys())
    .sort((a, b) => (value(a) === value(b) ? a - b : value(b) - value(a)))
    .slice(0, count)
    .sort((a, b) => a - b);
}

function select(logits: Float32Array, count: number): Candidates {
  const candidates = new Candidates(logits.length);
  keepHighest(logits, count, candidates);
  return candidates;
}

const anyLogit = fc.oneof(
  fc.float(),
  fc.integer({ min: -2, max: 2 }),
  fc.constantFrom(Number.NaN, Infinity, -Infinity, 0, -0),
);

test('takes what a plain sort would take, in the order of the ids', () => {
  const logits = fc.array(anyLogit, { minLength: 1, maxLength: 300 }).map((values) => Float32Array.from(values));
  fc.assert(
    fc.property(logits, fc.integer({ min: 1, max: 320 }), (values, count) => {
      expect(idsOf(select(values, count))).toEqual(naive(values, count));
    }),
  );
});

test('what is not a number is as impossible as minus infinity, and the lower id goes first', () => {
  const logits = Float32Array.of(0, Number.NaN, -Infinity, 0, -0, 0, 0, 0);
  expect(idsOf(select(logits, 7))).toEqual([0, 1, 3, 4, 5, 6, 7]);
});

const random = new Random(7);
const size = 40_000;
const bell = (): number => 4 * (random.next() + random.next() + random.next() + random.next() - 2);
const shapes: readonly (readonly [string, (id: number) => number])[] = [
  ['a bell', bell],
  ['all equal', () => 1],
  ['falling', (id) => -id],
  ['rising', (id) => id],
  ['a few steps', (id) => id % 7],
  ['the best only between the sampled places', (id) => (id % 39 === 5 ? 10 + bell() : bell())],
  ['the best only at the sampled places', (id) => (id % 39 === 0 ? 10 + bell() : bell())],
  ['mostly impossible', (id) => (id % 50 === 3 ? bell() : -Infinity)],
  ['mostly not a number', (id) => (id % 50 === 3 ? bell() : Number.NaN)],
];

test.each(shapes)('is exact on a large vocabulary: %s', (_, shape) => {
  const logits = Float32Array.from({ length: size }, (_, id) => shape(id));
  for (const count of [1, 100, 3000]) {
    const candidates = select(logits, count);
    expect(idsOf(candidates)).toEqual(naive(logits, count));
    const read = (id: number): number => (Number.isNaN(logits[id]) ? -Infinity : (logits[id] as number));
    expect(logitsOf(candidates)).toEqual(idsOf(candidates).map(read));
  }
});

test('trims ties by id where the order was lost', () => {
  const candidates = candidatesOf([0, 1, 2, 3]);
  candidates.sort();
  candidates.logits.fill(1);
  candidates.reordered();
  trimToHighest(candidates, 2);
  expect(idsOf(candidates)).toEqual([0, 1]);
});
