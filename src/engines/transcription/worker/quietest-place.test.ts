import fc from 'fast-check';
import { expect, test } from 'vitest';
import { quietestPlace } from './quietest-place.ts';

test('is in the middle of the softest frame', () => {
  const samples = new Float32Array(1000).fill(0.5);
  samples.fill(0.01, 400, 440);
  expect(quietestPlace(samples, 100, 900, 20)).toBe(430);
});

test('is the last of those that are alike', () => {
  expect(quietestPlace(new Float32Array(1000), 100, 900, 20)).toBe(890);
});

test('is the end where there is no room for a frame', () => {
  expect(quietestPlace(new Float32Array(1000), 100, 110, 20)).toBe(110);
});

test('lies between the two, also behind the end of the sound', () => {
  fc.assert(
    fc.property(fc.nat(300), fc.nat(300), fc.integer({ min: 1, max: 50 }), (from, more, frame) => {
      const samples = Float32Array.from({ length: 200 }, (_, index) => Math.sin(index));
      const place = quietestPlace(samples, from, from + more, frame);
      expect(place).toBeGreaterThanOrEqual(from);
      expect(place).toBeLessThanOrEqual(from + more);
    }),
  );
});
