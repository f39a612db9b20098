import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SeededNoise } from './noise.ts';

const anySeed = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

test('the same seed gives the same numbers', () => {
  fc.assert(
    fc.property(anySeed, fc.integer({ min: 1, max: 64 }), (seed, count) => {
      expect(new SeededNoise(seed).take(count)).toEqual(new SeededNoise(seed).take(count));
    }),
  );
});

test('other seeds give others, also neighbours and those beyond 32 bits', () => {
  fc.assert(
    fc.property(anySeed, (seed) => {
      const [own, next] = [seed, seed === 0 ? 1 : seed - 1].map((one) => new SeededNoise(one).take(16));
      expect(own).not.toEqual(next);
    }),
  );
  expect(new SeededNoise(5).take(8)).not.toEqual(new SeededNoise(2 ** 32 + 5).take(8));
});

test('what is taken in two portions of even length is what is taken at once', () => {
  const noise = new SeededNoise(7);
  const parts = [...noise.take(10), ...noise.take(6)];
  expect(parts).toEqual([...new SeededNoise(7).take(16)]);
});

test('the numbers are spread like a normal distribution, and neighbouring seeds have nothing in common', () => {
  const count = 20_000;
  const [first, second] = [1, 2].map((seed) => new SeededNoise(seed).take(count)) as [Float32Array, Float32Array];
  const mean = (values: Iterable<number>) => [...values].reduce((sum, value) => sum + value, 0) / count;
  expect(mean(first)).toBeCloseTo(0, 1);
  expect(mean(first.map((value) => value * value))).toBeCloseTo(1, 1);
  expect(mean(first.map((value) => value ** 3))).toBeCloseTo(0, 0);
  expect(mean(first.map((value, index) => value * (second[index] as number)))).toBeCloseTo(0, 1);
  const within = first.filter((value) => Math.abs(value) < 1).length / count;
  expect(within).toBeCloseTo(0.683, 1);
  expect(first.every(Number.isFinite)).toBe(true);
});

test('odd counts are given too', () => {
  expect(new SeededNoise(3).take(5).length).toBe(5);
  expect(new SeededNoise(3).take(5)).toEqual(new SeededNoise(3).take(6).slice(0, 5));
  expect(new SeededNoise(3).take(0).length).toBe(0);
});
