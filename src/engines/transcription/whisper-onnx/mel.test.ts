import { describe, expect, test } from 'vitest';
import { bands, filters, hop, logMel, windowFrames } from './mel.ts';

const rate = 16_000;

/** A tone of this many hertz. */
function tone(hertz: number, seconds: number): Float32Array {
  return Float32Array.from(
    { length: rate * seconds },
    (_, index) => 0.5 * Math.sin((2 * Math.PI * hertz * index) / rate),
  );
}

const frameOf = (mel: Float32Array, frame: number): number[] =>
  Array.from({ length: bands }, (_, band) => mel[band * windowFrames + frame] as number);

describe('filters', () => {
  test.each([
    // Band, its highest bin and weight: values of OpenAI's file.
    [0, 1, 0.02486259490251541],
    [1, 2, 0.022871771827340126],
    [10, 10, 0.01990821771323681],
    [40, 43, 0.014735566452145576],
    [79, 192, 0.0031647118739783764],
  ])('band %i has the weight of the original at bin %i', (band, bin, weight) => {
    const filter = filters()[band];
    expect(filter?.weights[bin - (filter?.first ?? 0)]).toBeCloseTo(weight, 7);
    expect(Math.max(...(filter?.weights ?? []))).toBeCloseTo(weight, 7);
  });

  test('there are 80 bands, none of them empty', () => {
    expect(filters().map(({ weights }) => weights.length > 0)).toEqual(new Array(bands).fill(true));
  });
});

describe('logMel', () => {
  /** By the definition: Fourier transform of a frame under a Hann window, and the energy in each band. */
  function byDefinition(samples: Float32Array, frame: number): number[] {
    const power = Array.from({ length: 201 }, (_, bin) => {
      let [re, im] = [0, 0];
      for (let index = 0; index < 400; index++) {
        const sample = samples[frame * hop - 200 + index] ?? 0;
        const weighted = sample * (0.5 - 0.5 * Math.cos((2 * Math.PI * index) / 400));
        re += weighted * Math.cos((2 * Math.PI * bin * index) / 400);
        im -= weighted * Math.sin((2 * Math.PI * bin * index) / 400);
      }
      return re * re + im * im;
    });
    return filters().map(({ first, weights }) => {
      const energy = weights.reduce((sum, weight, place) => sum + weight * (power[first + place] ?? 0), 0);
      return Math.log10(Math.max(energy, 1e-10));
    });
  }

  test('has the logarithm of the energy in each band, with a floor of 80 dB below the loudest', () => {
    const samples = tone(440, 1).map((sample, index) => sample + 0.01 * Math.sin(index * index));
    const found = frameOf(logMel(samples), 50);
    const expected = byDefinition(samples, 50);
    // Each frame of the tone is as loud as this one, up to its phase.
    const floor = Math.max(...expected) - 8;
    for (const [band, value] of expected.entries()) {
      expect(found[band]).toBeCloseTo((Math.max(value, floor) + 4) / 4, 2);
    }
  });

  test('a tone is loudest in its band', () => {
    const frame = frameOf(logMel(tone(1000, 1)), 40);
    const band = frame.indexOf(Math.max(...frame));
    const { first, weights } = filters()[band] ?? { first: 0, weights: [] };
    expect(first * 40).toBeLessThanOrEqual(1000);
    expect((first + weights.length) * 40).toBeGreaterThanOrEqual(1000);
  });

  test('fills the window with silence after the sound', () => {
    const mel = logMel(tone(440, 1));
    expect(mel.length).toBe(bands * windowFrames);
    const silence = frameOf(mel, 2000);
    expect(new Set(silence).size).toBe(1);
    expect(silence[0]).toBe(mel.reduce((least, value) => Math.min(least, value)));
  });

  test.each([0, 1, 159, 160, 16_000 * 30])('%i samples: all values are finite', (length) => {
    expect(logMel(new Float32Array(length)).every(Number.isFinite)).toBe(true);
  });

  test('silence is the same everywhere', () => {
    expect(new Set(logMel(new Float32Array(16_000)))).toEqual(new Set([-1.5]));
  });
});
