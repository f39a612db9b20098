import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance, suggest } from './suggest.ts';

test.each([
  ['', '', 0],
  ['abc', 'abc', 0],
  ['abc', 'acb', 1],
  ['abc', 'ab', 1],
  ['kitten', 'sitting', 3],
])('from %j to %j it takes %i changes', (from, to, distance) => {
  expect(editDistance(from, to)).toBe(distance);
});

test('the distance is the same in both directions', () => {
  fc.assert(fc.property(fc.string(), fc.string(), (from, to) => editDistance(from, to) === editDistance(to, from)));
});

test('dashes and underscores are not counted', () => {
  expect(suggest('--gpu_layers', ['--port', '--gpulayers'])).toBe('--gpulayers');
});

test('nothing is suggested when nothing is near', () => {
  expect(suggest('--zebra', ['--port', '--host'])).toBeUndefined();
});
