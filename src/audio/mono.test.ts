import { expect, test } from 'vitest';
import { monoSound } from './mono.ts';
import { loudnessOf, sine } from './testing/waves.ts';

const rate = 16_000;

test('pieces of different rates follow each other', async () => {
  const pieces = [8000, 48_000].map((each) => ({ channels: [sine(440, each, 0.5)], rate: each }));
  const sound = await monoSound(pieces, rate);
  expect(Math.abs(sound.length - 16_000)).toBeLessThan(10);
  expect(loudnessOf(440, 16_000, sound.subarray(0, 8000))).toBeCloseTo(0.5, 1);
  expect(loudnessOf(440, 16_000, sound.subarray(8000))).toBeCloseTo(0.5, 1);
});

test('a channel that is shorter counts as silent behind its end', async () => {
  const channels = [Float32Array.of(1, 1), Float32Array.of(1)];
  expect(await monoSound([{ channels, rate }], rate)).toEqual(Float32Array.of(1, 0.5));
});

test('nothing is nothing', async () => {
  expect(await monoSound([], rate)).toHaveLength(0);
});

test('a recording whose rate changes all the time is refused', async () => {
  const pieces = Array.from({ length: 1002 }, (_, index) => ({
    channels: [new Float32Array(10)],
    rate: index % 2 === 0 ? 8000 : 16_000,
  }));
  await expect(monoSound(pieces, 16_000)).rejects.toThrow(/changes its sample rate all the time/);
});
