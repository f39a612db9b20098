import { expect, test } from 'vitest';
import { bridges } from './fillers.ts';

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

test('bridges: no slot longer than all active ones', () => expect(taken(slots(9, 10, 9), 0, 2)).toEqual([]));

test('bridges: no slot without room', () => expect(taken(slots(1000, 1000, 9), 0, 2)).toEqual([]));
