import { expect, test } from 'vitest';
import { compared } from './compare.ts';

const speed = { bench: 'serve', what: 'speed', unit: 'tokens/s' };

test('the ratio is that of a typical round, not that of the medians', () => {
  const { value, peer } = compared(speed, { parley: [100, 30, 300], peer: [50, 15, 600] });
  expect([value, peer]).toEqual([100, { value: 50, ratio: 2 }]);
});

test('without a peer there is only what Parley did', () =>
  expect(compared(speed, { parley: [1, 3], peer: undefined })).toEqual({ ...speed, value: 2 }));

test('nothing is divided by nothing', () =>
  expect(compared(speed, { parley: [1], peer: [0] }).peer).toEqual({ value: 0 }));
