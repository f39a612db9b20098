import { expect, test } from 'vitest';
import { goalReached, table } from './report.ts';

const row = { bench: 'engine', what: 'ratio', value: 0.98, unit: '' };

test('goal: is a minimum for benefits and a maximum for costs', () => {
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

test('peer: adds columns, and the goal may apply to the ratio', () => {
  const rows = [
    { ...row, what: 'speed', value: 90, peer: { value: 100, ratio: 0.9 }, ratioGoal: { atLeast: 1 } },
    { ...row, what: 'gap', value: 5, unit: 'ms', peer: { value: 20, ratio: 0.25 }, ratioGoal: { atMost: 0.5 } },
    { ...row, what: 'later', value: 3, unit: 'ms', goal: { atMost: 5 } },
  ];
  expect(table(rows).split('\n')).toEqual([
    '| bench  | what  |   Parley |    peer | Parley ÷ peer | goal   |         |',
    '|--------|-------|---------:|--------:|--------------:|--------|---------|',
    '| engine | speed |     90.0 |     100 |         0.900 | ≥ 1    | missed  |',
    '| engine | gap   | 5.000 ms | 20.0 ms |         0.250 | ≤ 0.5  | reached |',
    '| engine | later | 3.000 ms |         |               | ≤ 5 ms | reached |',
  ]);
});
