import { expect, test } from 'vitest';
import { monoSound } from './mono.ts';
import { loudnessOf, sine } from './testing/waves.ts';

const options = { rate: 16_000, mostSeconds: 10, signal: new AbortController().signal };

test('pieces of different rates follow each other', async () => {
  const pieces = [8000, 48_000].map((rate) => ({ channels: [sine(440, rate, 0.5)], rate }));
  const sound = await monoSound(pieces, options);
  expect(Math.abs(sound.length - 16_000)).toBeLessThan(10);
  expect(loudnessOf(440, 16_000, sound.subarray(0, 8000))).toBeCloseTo(0.5, 1);
  expect(loudnessOf(440, 16_000, sound.subarray(8000))).toBeCloseTo(0.5, 1);
});

test('a channel that is shorter counts as silent behind its end', async () => {
  const channels = [Float32Array.of(1, 1), Float32Array.of(1)];
  expect(await monoSound([{ channels, rate: 16_000 }], options)).toEqual(Float32Array.of(1, 0.5));
});

test('nothing is nothing', async () => {
  expect(await monoSound([], options)).toHaveLength(0);
});

test('others are let in between two pieces', async () => {
  let turns = 0;
  const count = setInterval(() => turns++, 0);
  const pieces = Array.from({ length: 200 }, () => ({ channels: [new Float32Array(1000)], rate: 48_000 }));
  await monoSound(pieces, options);
  clearInterval(count);
  expect(turns).toBeGreaterThan(0);
});

test('whoever goes away ends it between two pieces', async () => {
  const stop = new AbortController();
  let given = 0;
  function* pieces() {
    for (; given < 100; given++) {
      if (given === 3) stop.abort(new Error('gone'));
      yield { channels: [new Float32Array(10)], rate: 16_000 };
    }
  }
  await expect(monoSound(pieces(), { ...options, signal: stop.signal })).rejects.toThrow('gone');
  expect(given).toBe(3);
});

test('what is too long is refused as soon as that is known', async () => {
  let given = 0;
  function* pieces() {
    for (;;) {
      given++;
      yield { channels: [new Float32Array(16_000)], rate: 16_000 };
    }
  }
  await expect(monoSound(pieces(), { ...options, mostSeconds: 7200 / 3600 })).rejects.toMatchObject({ status: 400 });
  expect(given).toBe(3);
});
