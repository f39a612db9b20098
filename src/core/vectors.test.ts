import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cosine, normalised, shortened, unit } from './vectors.ts';

const entry = fc.float({ min: -1000, max: 1000, noNaN: true });
const vector = fc.array(entry, { minLength: 1, maxLength: 40 }).map((entries) => Float32Array.from(entries));
/** One that is long enough for 32-bit floats to have a length of it. */
const real = vector.filter((one) => one.some((each) => Math.abs(each) > 1e-3));
const lengthOf = (one: Float32Array): number => Math.hypot(...one);

describe('unit', () => {
  test('has length 1 and the same direction', () => {
    fc.assert(
      fc.property(real, (one) => {
        const made = unit(one);
        expect(lengthOf(made)).toBeCloseTo(1, 4);
        expect(cosine(one, made)).toBeCloseTo(1, 4);
      }),
    );
  });

  test('of a zero vector is a zero vector', () => expect(unit(new Float32Array(3))).toEqual(new Float32Array(3)));

  test('does not change its argument', () => {
    const given = Float32Array.of(3, 4);
    expect(Array.from(unit(given))).toEqual([Math.fround(0.6), Math.fround(0.8)]);
    expect(given).toEqual(Float32Array.of(3, 4));
  });
});

describe('shortened', () => {
  test('has the first entries and length 1', () => {
    fc.assert(
      fc.property(real, fc.nat(40), (one, wanted) => {
        const made = shortened(one, wanted);
        expect(made.length).toBe(Math.min(wanted, one.length));
        if (made.some((each) => Math.abs(each) > 1e-3)) expect(lengthOf(made)).toBeCloseTo(1, 4);
      }),
    );
  });

  test('with all dimensions equals unit', () => {
    fc.assert(
      fc.property(real, (one) => {
        expect(shortened(one, one.length)).toEqual(unit(one));
      }),
    );
  });
});

describe('normalised', () => {
  test.each([
    [1, [0.25, -0.75]],
    [0, [10_920, -32_760]],
    [2, [0.316, -0.949]],
    [3, [0.329, -0.988]],
    [-1, [1, -3]],
  ])('norm %i', (norm, expected) => {
    const made = normalised(Float32Array.of(1, -3), norm);
    for (const [index, each] of made.entries()) expect(each).toBeCloseTo(expected[index] as number, 2);
  });

  test('has the norm 1 for any p', () => {
    fc.assert(
      fc.property(real, fc.integer({ min: 1, max: 200 }), (one, norm) => {
        const sizes = Array.from(normalised(one, norm), Math.abs);
        const largest = Math.max(...sizes);
        const sum = sizes.reduce((before, each) => before + (each / largest) ** norm, 0);
        expect(largest * sum ** (1 / norm)).toBeCloseTo(1, 3);
      }),
    );
  });

  test.each([-1, 0, 1, 2, 7])('norm %i of a zero vector is a zero vector', (norm) => {
    expect(normalised(new Float32Array(2), norm)).toEqual(new Float32Array(2));
  });
});

describe('cosine', () => {
  test('is symmetric and between -1 and 1', () => {
    fc.assert(
      fc.property(real, real, (one, other) => {
        expect(cosine(one, other)).toBeCloseTo(cosine(other, one), 4);
        expect(Math.abs(cosine(one, other))).toBeLessThanOrEqual(1 + 1e-4);
      }),
    );
  });

  test('does not depend on the lengths', () => {
    fc.assert(
      fc.property(real, fc.float({ min: Math.fround(0.01), max: 50, noNaN: true }), (one, by) => {
        expect(
          cosine(
            one,
            one.map((each) => each * by),
          ),
        ).toBeCloseTo(1, 3);
      }),
    );
  });

  test.each([
    [[1, 0], [0, 1], 0],
    [[1, 0], [-2, 0], -1],
    [[1, 1], [1, 0], Math.SQRT1_2],
    [[0, 0], [1, 0], 0],
  ])('of %j and %j', (one, other, expected) => {
    expect(cosine(Float32Array.from(one), Float32Array.from(other))).toBeCloseTo(expected, 6);
  });
});
