import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Resampler } from './resample.ts';
import { sameSamples } from './testing/waves.ts';

const rates = [8000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000];

function tone(frequency: number, rate: number, seconds = 0.2): Float32Array {
  return Float32Array.from({ length: Math.round(rate * seconds) }, (_, index) =>
    Math.sin((2 * Math.PI * frequency * index) / rate),
  );
}

function whole(samples: Float32Array, from: number, to: number): Float32Array {
  return inPieces(samples, from, to, [samples.length]);
}

function inPieces(samples: Float32Array, from: number, to: number, lengths: readonly number[]): Float32Array {
  const stream = new Resampler(from, to, 1);
  const made: number[] = [];
  let at = 0;
  for (const length of lengths) {
    made.push(...stream.push(samples.subarray(at, at + length)));
    at += length;
  }
  made.push(...stream.push(samples.subarray(at)), ...stream.end());
  return Float32Array.from(made);
}

const loudness = (samples: Float32Array): number =>
  Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));

/** Without the edges, where half of the neighbourhood is silence. */
const inner = (samples: Float32Array): Float32Array => samples.subarray(400, samples.length - 400);

describe('Resampler: playback', () => {
  test.each(rates.flatMap((from) => rates.map((to) => [from, to] as const)))(
    'lasts as long from %i to %i',
    (from, to) => {
      const samples = tone(440, from);
      expect(whole(samples, from, to).length).toBe(Math.round((samples.length * to) / from));
    },
  );

  test.each([
    [16_000, 24_000],
    [16_000, 48_000],
    [22_050, 24_000],
    [48_000, 24_000],
  ])('keeps a tone from %i to %i Hz', (from, to) => {
    const made = inner(whole(tone(1000, from), from, to));
    const wanted = inner(tone(1000, to));
    const error = Math.max(...made.map((sample, index) => Math.abs(sample - (wanted[index] ?? 0))));
    expect(error).toBeLessThan(0.01);
  });

  test('removes frequencies above half of the lower rate', () => {
    expect(loudness(inner(whole(tone(18_000, 48_000), 48_000, 24_000)))).toBeLessThan(0.01);
  });

  test('does not depend on the chunking', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...rates),
        fc.constantFrom(...rates),
        fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 12 }),
        (from, to, lengths) => {
          const samples = tone(300, from, 0.05);
          expect(sameSamples(inPieces(samples, from, to, lengths), whole(samples, from, to))).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('returns the input if the rate stays', () => {
    const samples = tone(300, 16_000);
    expect(whole(samples, 16_000, 16_000)).toEqual(samples);
  });

  test('is empty for empty input', () => {
    expect(whole(new Float32Array(0), 16_000, 24_000)).toHaveLength(0);
  });
});
