import { expect, test } from 'vitest';
import { slotFor, usedSlots } from './slots.ts';

test('usedSlots: lists used slots with their numbers', () => {
  expect(usedSlots(['', 'Fox', '', 'Owl'])).toEqual([
    { slot: 1, title: 'Fox' },
    { slot: 3, title: 'Owl' },
  ]);
});

test.each([
  ['a new title goes to the first free slot', ['Fox', '', ''], 'Owl', { slot: 1, replaces: false }],
  ['a known title replaces its slot', ['', 'Fox', ''], 'Fox', { slot: 1, replaces: true }],
  ['no slot if all are in use', ['Fox', 'Owl'], 'Hen', undefined],
])('slotFor: %s', (_, titles, title, expected) => {
  expect(slotFor(titles, title)).toEqual(expected);
});
