import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Candidates, keepHighest, trimToHighest } from './candidates.ts';
import { Random } from './random.ts';
import { anyLogits, candidatesOf, idsOf, logitsOf, probabilitiesOf, weighted } from './testing/candidates.ts';

const naiveOrder = (logits: readonly number[]): number[] =>
  logits.map((_, id) => id).sort((a, b) => (logits[b] === logits[a] ? a - b : Number(logits[b]) - Number(logits[a])));

test('Candidates.sort: highest logit first, equals by ascending id', () => {
  const candidates = candidatesOf([1, 3, -2, 3, 0, -0, -Infinity, Infinity]);
  candidates.sort();
  expect(idsOf(candidates)).toEqual([7, 1, 3, 0, 4, 5, 2, 6]);
});

test.each([
  ['few', anyLogits(128)],
  ['many', anyLogits(400, 129)],
])('Candidates.sort: sorts %s as a comparison sort does', (_, logitsOfThatMany) => {
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

test('Candidates.sort: equals by id after the order was lost', () => {
  const candidates = candidatesOf([1, 2, 3]);
  candidates.sort();
  candidates.logits.fill(5);
  candidates.reordered();
  candidates.sort();
  expect(idsOf(candidates)).toEqual([0, 1, 2]);
});

test('softmax: probabilities sum to 1 for any logits', () => {
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

test('entropy: ln 4 for four equal candidates', () => {
  const candidates = weighted(1, 1, 1, 1);
  candidates.softmax();
  expect(candidates.entropy()).toBeCloseTo(Math.log(4), 6);
});

test('keepBest: the lowest id of equal logits, sorted or not', () => {
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

test('keepAtLeast: a threshold above the best keeps the best', () => {
  const candidates = candidatesOf([1, 2, 2]);
  candidates.keepAtLeast(9);
  expect(idsOf(candidates)).toEqual([1, 2]);
});

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

test('keepHighest: same entries as a full sort, in the order of the ids', () => {
  const logits = fc.array(anyLogit, { minLength: 1, maxLength: 300 }).map((values) => Float32Array.from(values));
  fc.assert(
    fc.property(logits, fc.integer({ min: 1, max: 320 }), (values, count) => {
      expect(idsOf(select(values, count))).toEqual(naive(values, count));
    }),
  );
});

test('keepHighest: NaN counts as minus infinity, lower ids first', () => {
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

test.each(shapes)('keepHighest: exact on a large vocabulary (%s)', (_, shape) => {
  const logits = Float32Array.from({ length: size }, (_, id) => shape(id));
  for (const count of [1, 100, 3000]) {
    const candidates = select(logits, count);
    expect(idsOf(candidates)).toEqual(naive(logits, count));
    const read = (id: number): number => (Number.isNaN(logits[id]) ? -Infinity : (logits[id] as number));
    expect(logitsOf(candidates)).toEqual(idsOf(candidates).map(read));
  }
});

test('trimToHighest: ties by id after the order was lost', () => {
  const candidates = candidatesOf([0, 1, 2, 3]);
  candidates.sort();
  candidates.logits.fill(1);
  candidates.reordered();
  trimToHighest(candidates, 2);
  expect(idsOf(candidates)).toEqual([0, 1]);
});
