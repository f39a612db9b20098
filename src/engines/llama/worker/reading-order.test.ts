import { expect, test } from 'vitest';
import { nextReader } from './reading-order.ts';

const book = { name: 'book', remaining: 4000 };
const letter = { name: 'letter', remaining: 300 };
const question = { name: 'question', remaining: 20 };

test('the oldest and the shortest take turns', () => {
  const readers = [book, letter, question];
  expect([0, 1, 2, 3].map((turn) => nextReader(readers, turn)?.name)).toEqual(['book', 'question', 'book', 'question']);
});

test('of equally long ones the oldest goes on', () =>
  expect(nextReader([letter, { ...letter, name: 'later' }], 1)?.name).toBe('letter'));

test('nobody reads where there is nothing to read', () => expect(nextReader([], 1)).toBeUndefined());
