import { expect, test } from 'vitest';
import { bridges } from './bridges.ts';

const slots = (...lengths: number[]) => lengths.map((computed, sequence) => ({ sequence, computed, capacity: 100 }));

/** Which sequences take a token along while these write. */
function taken(all: ReturnType<typeof slots>, ...writing: number[]): number[] {
  const chosen = all.filter(({ sequence }) => writing.includes(sequence));
  return bridges(chosen, all).map(({ sequence }) => sequence);
}

test('a short gap between two writers is closed', () => {
  expect(taken(slots(9, 0, 0, 9, 0), 0, 3)).toEqual([1, 2]);
  expect(taken(slots(9, 5, 9, 9, 5, 9), 0, 2, 3, 5)).toEqual([1, 4]);
});

test('a long gap is not, and nothing before the first writer or behind the last', () => {
  expect(taken(slots(9, 0, 0, 0, 0, 9), 0, 5)).toEqual([]);
  expect(taken(slots(0, 0, 9, 0), 2)).toEqual([]);
  expect(taken(slots(9, 9, 9), 0, 1, 2)).toEqual([]);
});

test('a text longer than all that are being written stays out of it', () =>
  expect(taken(slots(9, 10, 9), 0, 2)).toEqual([]));

test('a sequence without room stays out of it', () => expect(taken(slots(100, 100, 9), 0, 2)).toEqual([]));
