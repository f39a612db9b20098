import { expect, test } from 'vitest';
import { goalReached, table } from './report.ts';

const row = { bench: 'engine', what: 'ratio', value: 0.98, unit: '' };

test('a goal is a floor for what is good and a ceiling for what costs', () => {
  expect(goalReached(row)).toBeUndefined();
  expect(goalReached({ ...row, goal: { atLeast: 0.97 } })).toBe(true);
  expect(goalReached({ ...row, goal: { atMost: 0.97 } })).toBe(false);
});

test('the table is Markdown with one line for each figure', () => {
  const rows = [
    { ...row, goal: { atLeast: 0.97 } },
    { ...row, value: 123.4, unit: 'µs', goal: { atMost: 40 } },
  ];
  expect(table(rows).split('\n')).toEqual([
    '| bench  | what  | measured | goal    |         |',
    '|--------|-------|---------:|---------|---------|',
    '| engine | ratio |    0.980 | ≥ 0.97  | reached |',
    '| engine | ratio |   123 µs | ≤ 40 µs | missed  |',
  ]);
});
