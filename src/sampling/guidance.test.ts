import { expect, test } from 'vitest';
import { mixGuidance } from './guidance.ts';

test.each([
  [1, [3, -1]],
  [2, [5, -4]],
  [0, [1, 2]],
])('a scale of %f moves the logits away from the negative ones', (scale, expected) => {
  const main = Float32Array.of(3, -1);
  mixGuidance(main, Float32Array.of(1, 2), scale);
  expect([...main]).toEqual(expected);
});

test('impossible tokens never become what is not a number', () => {
  const main = Float32Array.of(-Infinity, 1, -Infinity);
  mixGuidance(main, Float32Array.of(-Infinity, -Infinity, 1), 2);
  expect([...main]).toEqual([-Infinity, 1, -Infinity]);
});
