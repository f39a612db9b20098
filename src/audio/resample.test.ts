import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concat, Resampler } from './resample.ts';
import { loudnessOf, monoSamples, rms, sameSamples, sine } from './testing/waves.ts';

const target = 16_000;
const rates = [8000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];

function resampled(samples: Float32Array, from: number, to = target, pieceLength = samples.length || 1): Float32Array {
  const resampler = new Resampler(from, to);
  const pieces: Float32Array[] = [];
  for (let start = 0; start < samples.length; start += pieceLength) {
    pieces.push(resampler.push(samples.subarray(start, start + pieceLength)));
  }
  pieces.push(resampler.end());
  return concat(...pieces);
}

describe.each(rates)('from %i Hz', (rate) => {
  test.each([100, 440, 1000, 3000])('Resampler: keeps frequency and amplitude of a tone of %i Hz', (hertz) => {
    const output = resampled(sine(hertz, rate, 0.5), rate);
    expect(loudnessOf(hertz, target, output)).toBeCloseTo(0.5, 2);
    expect(loudnessOf(hertz * 1.5, target, output)).toBeLessThan(0.002);
  });

  test('Resampler: keeps the duration', () => {
    const output = resampled(sine(440, rate, 0.5), rate);
    expect(Math.abs(output.length - target / 2)).toBeLessThanOrEqual(target / rate + 1);
  });

  test('Resampler: keeps silence and constants', () => {
    expect(rms(resampled(new Float32Array(rate / 5), rate))).toBe(0);
    const constant = resampled(new Float32Array(rate / 5).fill(0.25), rate);
    const inner = constant.subarray(constant.length / 4, constant.length / 2);
    expect(Math.min(...inner)).toBeCloseTo(0.25, 4);
    expect(Math.max(...inner)).toBeCloseTo(0.25, 4);
  });
});

test.each([
  [48_000, 8600],
  [48_000, 10_000],
  [48_000, 15_900],
  [44_100, 9000],
  [44_100, 20_000],
  [96_000, 40_000],
  [24_000, 11_000],
])('Resampler: from %i Hz, a tone of %i Hz is removed without aliasing', (rate, hertz) => {
  expect(rms(resampled(sine(hertz, rate, 0.3), rate).subarray(500, 4000))).toBeLessThan(0.001);
});

test('Resampler: a higher rate adds no images', () => {
  const output = resampled(sine(3000, 8000, 0.5), 8000);
  expect(loudnessOf(3000, target, output)).toBeCloseTo(0.5, 2);
  expect(loudnessOf(5000, target, output)).toBeLessThan(0.001);
});

test('Resampler: keeps the time of a click', () => {
  const input = new Float32Array(48_000);
  input[24_000] = 1;
  const output = resampled(input, 48_000);
  const loudest = output.reduce((best, sample, index) => (sample > (output[best] ?? 0) ? index : best), 0);
  expect(loudest).toBe(8000);
});

test('Resampler: the same rate changes nothing', () => {
  const input = sine(440, target, 0.1);
  expect(resampled(input, target)).toEqual(input);
});

test('Resampler: rates with a small common divisor', () => {
  const output = resampled(sine(1000, 44_099, 0.5), 44_099);
  expect(loudnessOf(1000, target, output)).toBeCloseTo(0.5, 2);
  expect(loudnessOf(2500, target, output)).toBeLessThan(0.002);
});

test('Resampler: does not depend on the chunking', () => {
  const input = sine(700, 22_050, 0.1);
  const whole = resampled(input, 22_050);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: input.length }), (length) => {
      expect(sameSamples(resampled(input, 22_050, target, length), whole)).toBe(true);
    }),
    { numRuns: 40 },
  );
});

test('Resampler: the output length matches the duration for any rate and length', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1000, max: 96_000 }), fc.integer({ min: 0, max: 3000 }), (rate, length) => {
      const output = resampled(new Float32Array(length).fill(0.1), rate);
      expect(output.length).toBe(length === 0 ? 0 : Math.max(1, Math.round((length * target) / rate)));
      expect(output.every(Number.isFinite)).toBe(true);
    }),
    { numRuns: 30 },
  );
});

const rate = 16_000;

test('MonoMixer: joins chunks of different rates', async () => {
  const pieces = [8000, 48_000].map((each) => ({ channels: [sine(440, each, 0.5)], rate: each }));
  const sound = await monoSamples(pieces, rate);
  expect(Math.abs(sound.length - 16_000)).toBeLessThan(10);
  expect(loudnessOf(440, 16_000, sound.subarray(0, 8000))).toBeCloseTo(0.5, 1);
  expect(loudnessOf(440, 16_000, sound.subarray(8000))).toBeCloseTo(0.5, 1);
});

test('MonoMixer: pads a shorter channel with silence', async () => {
  const channels = [Float32Array.of(1, 1), Float32Array.of(1)];
  expect(await monoSamples([{ channels, rate }], rate)).toEqual(Float32Array.of(1, 0.5));
});

test('MonoMixer: is empty for empty input', async () => {
  expect(await monoSamples([], rate)).toHaveLength(0);
});

test('MonoMixer: rejects a recording with too many rate changes', async () => {
  const pieces = Array.from({ length: 1002 }, (_, index) => ({
    channels: [new Float32Array(10)],
    rate: index % 2 === 0 ? 8000 : 16_000,
  }));
  await expect(monoSamples(pieces, 16_000)).rejects.toThrow(/changes its sample rate all the time/);
});
