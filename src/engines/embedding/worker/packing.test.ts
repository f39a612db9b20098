import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextBatch, type Piece, type Room } from './packing.ts';

interface Numbered extends Piece {
  readonly number: number;
}

const piece = fc.record({
  owner: fc.nat(4),
  tokens: fc.integer({ min: 1, max: 60 }),
  pooling: fc.constantFrom('mean', 'none'),
});
const waiting: fc.Arbitrary<Numbered[]> = fc
  .array(piece, { maxLength: 60 })
  .map((pieces) => pieces.map((one, number) => ({ ...one, number })));
const room: fc.Arbitrary<Room> = fc.record({
  tokens: fc.integer({ min: 1, max: 100 }),
  sequences: fc.integer({ min: 1, max: 12 }),
});
const sum = (pieces: readonly Piece[]): number => pieces.reduce((total, { tokens }) => total + tokens, 0);

/** All batches until nothing waits. */
function batches(pieces: readonly Numbered[], size: Room): Numbered[][] {
  const all: Numbered[][] = [];
  for (let left = pieces; left.length > 0; ) {
    const batch = nextBatch(left, size);
    if (batch.length === 0) throw new Error('nothing goes on');
    all.push(batch);
    left = left.filter((one) => !batch.includes(one));
  }
  return all;
}

describe('batches', () => {
  test('bring every text once, and always go on', () => {
    fc.assert(
      fc.property(waiting, room, (pieces, size) => {
        const numbers = batches(pieces, size)
          .flat()
          .map(({ number }) => number);
        expect(numbers.toSorted((a, b) => a - b)).toEqual(pieces.map(({ number }) => number));
      }),
    );
  });

  test('never have more than there is room for, but for a text that is longer by itself', () => {
    fc.assert(
      fc.property(waiting, room, (pieces, size) => {
        for (const batch of batches(pieces, size)) {
          expect(batch.length).toBeLessThanOrEqual(size.sequences);
          if (batch.length > 1) expect(sum(batch)).toBeLessThanOrEqual(size.tokens);
        }
      }),
    );
  });

  test('begin with the oldest, and pool all in its way', () => {
    fc.assert(
      fc.property(waiting, room, (pieces, size) => {
        const batch = nextBatch(pieces, size);
        expect(batch[0]).toBe(pieces[0]);
        expect(new Set(batch.map(({ pooling }) => pooling)).size).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('keep the order of each owner', () => {
    fc.assert(
      fc.property(waiting, room, (pieces, size) => {
        const order = batches(pieces, size).flat();
        for (const { owner, pooling } of pieces) {
          const own = order.filter((one) => one.owner === owner && one.pooling === pooling).map((one) => one.number);
          expect(own).toEqual(own.toSorted((a, b) => a - b));
        }
      }),
    );
  });

  test('leave nobody out who would fit', () => {
    fc.assert(
      fc.property(waiting, room, (pieces, size) => {
        const batch = nextBatch(pieces, size);
        if (batch.length === size.sequences) return;
        const alike = pieces.filter(({ pooling }) => pooling === pieces[0]?.pooling);
        for (const owner of new Set(alike.map((one) => one.owner))) {
          const next = alike.find((one) => one.owner === owner && !batch.includes(one));
          if (next) expect(sum(batch) + next.tokens).toBeGreaterThan(size.tokens);
        }
      }),
    );
  });
});

test('whoever has one text does not wait behind somebody with hundreds', () => {
  const many = Array.from({ length: 300 }, () => ({ owner: 1, tokens: 10, pooling: 'mean' }));
  const single = { owner: 2, tokens: 10, pooling: 'mean' };
  const batch = nextBatch([...many, single], { tokens: 100, sequences: 64 });
  expect(batch).toContain(single);
  expect(batch).toHaveLength(10);
});

test('nothing is made of nothing', () => expect(nextBatch([], { tokens: 1, sequences: 1 })).toEqual([]));
