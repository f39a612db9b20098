import { expect, test } from 'vitest';
import { memoryRows } from './memory.ts';
import { goalReached } from './report.ts';

const parley = { name: 'Parley', loaded: 300, answered: 400, peak: 2000 };

test('what Parley holds is set against what the peer holds after the same requests', () => {
  const rows = memoryRows([parley, { name: 'peer', loaded: 1500, answered: 1600, peak: 1600 }]);
  const ratio = rows.at(-1);
  expect(ratio?.value).toBe(0.25);
  expect(ratio && goalReached(ratio)).toBe(true);
});

test('without a peer there is nothing to compare', () => {
  expect(memoryRows([parley]).map(({ value }) => value)).toEqual([300, 400, 2000]);
});
