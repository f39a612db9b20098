import { describe, expect, test } from 'vitest';
import { bridges, Fillers } from './fillers.ts';

const slots = (...lengths: number[]) => lengths.map((computed, sequence) => ({ sequence, computed, capacity: 1000 }));

/** Which sequences take a token along while these write. */
function taken(all: ReturnType<typeof slots>, ...writing: number[]): number[] {
  const chosen = all.filter(({ sequence }) => writing.includes(sequence));
  return bridges(chosen, all).map(({ sequence }) => sequence);
}

test('bridges: closes a short gap between two active slots', () => {
  expect(taken(slots(9, 0, 0, 9, 0), 0, 3)).toEqual([1, 2]);
  expect(taken(slots(9, 5, 9, 9, 5, 9), 0, 2, 3, 5)).toEqual([1, 4]);
});

test('bridges: no long gap, nothing before the first or after the last active slot', () => {
  expect(taken(slots(9, 0, 0, 0, 0, 9), 0, 5)).toEqual([]);
  expect(taken(slots(0, 0, 9, 0), 2)).toEqual([]);
  expect(taken(slots(9, 9, 9), 0, 1, 2)).toEqual([]);
});

test('bridges: no slot much longer than all active ones', () => {
  expect(taken(slots(9, 100, 9), 0, 2)).toEqual([1]);
  expect(taken(slots(9, 300, 9), 0, 2)).toEqual([]);
});

test('bridges: no slot without room', () => expect(taken(slots(1000, 1000, 9), 0, 2)).toEqual([]));

describe('Fillers: a row more beside those that write', () => {
  /** What steps of so many rows take: in blocks of four, the others one by one. */
  const inBlocks = (rows: number) => Math.floor(rows / 4) * 8 + (rows % 4) * 3.3;
  const oneByOne = (rows: number) => rows * 3.3;

  /** The rows of the steps in which the first slots write. */
  function rows(writing: number, steps: number, time: (rows: number) => number, onCard = false): number[] {
    const all = slots(...Array(writing).fill(9), 0, 0);
    const fillers = new Fillers(all, onCard);
    return Array.from({ length: steps }, () => {
      const count = writing + fillers.next(all.slice(0, writing)).length;
      fillers.took(time(count), count);
      return count;
    });
  }

  test.each([3, 7, 11])('%i rows are computed as a block more where that is faster', (writing) => {
    expect(new Set(rows(writing, 100, inBlocks).slice(16))).toEqual(new Set([writing + 1]));
  });

  test.each([1, 2, 4, 5, 6, 8])('%i rows stay as they are', (writing) => {
    expect(new Set(rows(writing, 100, inBlocks))).toEqual(new Set([writing]));
  });

  test('a processor without such blocks computes no more rows after the first comparison', () => {
    const counts = rows(3, 4000, oneByOne);
    expect(counts.filter((count) => count === 4)).toHaveLength(8);
    expect(new Set(counts.slice(16))).toEqual(new Set([3]));
  });

  test('another comparison finds what has changed', () => {
    let now = 0;
    const counts = rows(3, 5000, (count) => (++now < 2000 ? oneByOne(count) : inBlocks(count)));
    expect(counts.at(-1)).toBe(4);
  });

  test('steps with drafts are not compared', () => {
    const all = slots(9, 9, 9, 0);
    const fillers = new Fillers(all, false);
    for (let step = 0; step < 16; step += 1) {
      const count = 3 + fillers.next(all.slice(0, 3)).length;
      fillers.took(inBlocks(count), count + 5);
    }
    expect(fillers.next(all.slice(0, 3))).toEqual([]);
  });

  test('not on a card', () => expect(new Set(rows(3, 100, inBlocks, true))).toEqual(new Set([3])));

  test('not with a long idle text, which attention would have to read', () => {
    const all = slots(9, 9, 9, 300);
    const fillers = new Fillers(all, false);
    for (let step = 0; step < 40; step += 1) expect(fillers.next(all.slice(0, 3))).toEqual([]);
  });
});
