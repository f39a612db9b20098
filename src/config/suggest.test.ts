import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance, suggest } from './suggest.ts';

test.each([
  ['', '', 0],
  ['abc', 'abc', 0],
  ['abc', 'acb', 1],
  ['abc', 'ab', 1],
  ['kitten', 'sitting', 3],
])('editDistance: %j to %j is %i', (from, to, distance) => {
  expect(editDistance(from, to)).toBe(distance);
});

test('editDistance: is symmetric', () => {
  fc.assert(fc.property(fc.string(), fc.string(), (from, to) => editDistance(from, to) === editDistance(to, from)));
});

test('suggest: ignores dashes and underscores', () => {
  expect(suggest('--gpu_layers', ['--port', '--gpulayers'])).toBe('--gpulayers');
});

test('suggest: undefined if no name is near', () => {
  expect(suggest('--zebra', ['--port', '--host'])).toBeUndefined();
});
