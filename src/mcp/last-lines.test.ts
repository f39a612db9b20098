import { expect, test } from 'vitest';
import { LastLines } from './last-lines.ts';

const written = (...pieces: string[]): string => {
  const lines = new LastLines();
  for (const piece of pieces) lines.add(piece);
  return lines.text;
};

test('lines are kept whole, however they come', () => {
  expect(written('one\ntw', 'o\n\n  \nthree')).toBe('one | two | three');
});

test('nothing written is nothing', () => {
  expect(written()).toBe('');
  expect(written('\n', ' \n')).toBe('');
});

test('of many lines the last twenty stay', () => {
  const text = written(...Array.from({ length: 50 }, (_, index) => `line ${index}\n`));
  expect(text.split(' | ')).toEqual(Array.from({ length: 20 }, (_, index) => `line ${index + 30}`));
});

test('a line without an end does not grow for ever', () => {
  const text = written(...Array.from({ length: 100 }, () => 'x'.repeat(1000)));
  expect(text.length).toBeLessThanOrEqual(500);
});
