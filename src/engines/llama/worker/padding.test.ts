import { expect, test } from 'vitest';
import { paddingSlots } from './padding.ts';

const slots = (...lengths: number[]) => lengths.map((computed, sequence) => ({ sequence, computed, capacity: 1000 }));

/** The sequences that get a padding token while these are active. */
function padded(all: ReturnType<typeof slots>, ...active: number[]): number[] {
  const chosen = all.filter(({ sequence }) => active.includes(sequence));
  return paddingSlots(chosen, all).map(({ sequence }) => sequence);
}

test('paddingSlots: fills a short gap between two active slots', () => {
  expect(padded(slots(9, 0, 0, 9, 0), 0, 3)).toEqual([1, 2]);
  expect(padded(slots(9, 5, 9, 9, 5, 9), 0, 2, 3, 5)).toEqual([1, 4]);
});

test('paddingSlots: fills no long gap, and nothing before the first or after the last active slot', () => {
  expect(padded(slots(9, 0, 0, 0, 0, 9), 0, 5)).toEqual([]);
  expect(padded(slots(0, 0, 9, 0), 2)).toEqual([]);
  expect(padded(slots(9, 9, 9), 0, 1, 2)).toEqual([]);
});

test('paddingSlots: leaves out a gap with a slot longer than all active ones', () =>
  expect(padded(slots(9, 10, 9), 0, 2)).toEqual([]));

test('paddingSlots: leaves out a gap with a full slot', () => expect(padded(slots(1000, 1000, 9), 0, 2)).toEqual([]));
