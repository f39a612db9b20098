import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { quantisedToQ8 } from './q8.ts';
import { widened } from './safetensors.ts';

const block = (...values: number[]): Float32Array =>
  Float32Array.from({ length: 32 }, (_, index) => values[index] ?? 0);
const scaleOf = (bytes: Uint8Array): number => widened(bytes.subarray(0, 2))[0] ?? Number.NaN;
const read = (bytes: Uint8Array): number[] =>
  Array.from(new Int8Array(bytes.buffer, 2, 32), (whole) => whole * scaleOf(bytes));

describe('quantisedToQ8', () => {
  test('writes the scale of a block as a 16-bit float, and its weights as signed bytes', () => {
    const bytes = quantisedToQ8(block(127, -127, 1, -1));
    expect(bytes).toHaveLength(34);
    expect([...bytes.subarray(0, 6)]).toEqual([0x00, 0x3c, 127, 129, 1, 255]);
  });

  test('writes zeros for a block of zeros', () => {
    expect(quantisedToQ8(block()).every((byte) => byte === 0)).toBe(true);
  });

  test('stays within half a step of every weight, and a rounding of the scale', () => {
    const weight = fc.float({ min: -8, max: 8, noNaN: true });
    fc.assert(
      fc.property(fc.array(weight, { minLength: 32, maxLength: 32 }), (values) => {
        const largest = Math.max(...values.map(Math.abs));
        const off = read(quantisedToQ8(Float32Array.from(values))).map((value, index) =>
          Math.abs(value - (values[index] ?? 0)),
        );
        // A scale below 2 ** -14 has fewer digits: there a step of 2 ** -25 counts.
        expect(Math.max(...off)).toBeLessThanOrEqual(largest / 254 + largest / 2000 + 127 * 2 ** -25);
      }),
    );
  });

  test.each([
    ['the smallest normal scale', 2 ** -14],
    ['a scale below it', 3 * 2 ** -24],
    ['the smallest scale', 2 ** -24],
    ['a scale that is rounded to even, down', 1 + 2 ** -11, 1],
    ['a scale that is rounded to even, up', 1 + 3 * 2 ** -11, 1 + 2 ** -9],
    ['a scale that is rounded into the next exponent', 2 - 2 ** -12, 2],
    ['a scale that is too small', 2 ** -26, 0],
  ])('%s', (_, scale, written = scale) => {
    expect(scaleOf(quantisedToQ8(block(127 * scale)))).toBe(written);
  });

  test('throws for what is no whole block', () => {
    expect(() => quantisedToQ8(new Float32Array(33))).toThrow('33 weights are no whole blocks');
  });
});
