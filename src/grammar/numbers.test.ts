import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Bounds, decimal, integerRange, numberRange } from './numbers.ts';

/** The bodies for ranges use little of GBNF, and that little reads as a regular expression without blanks and quotes. */
function matcher(body: string | undefined): RegExp {
  if (body === undefined) return /^\b$/;
  const source = body.replace(/"([^"]*)"|\s+/g, (_, text: string | undefined) => {
    return text === undefined ? '' : `(?:${text.replaceAll('.', '\\.')})`;
  });
  return new RegExp(`^(?:${source})$`);
}

function within(value: number, { minimum, maximum }: Bounds): boolean {
  const above = !minimum || (minimum.exclusive ? value > minimum.value : value >= minimum.value);
  return above && (!maximum || (maximum.exclusive ? value < maximum.value : value <= maximum.value));
}

const bound = (value: fc.Arbitrary<number>) =>
  fc.option(fc.record({ value, exclusive: fc.boolean() }), { nil: undefined });

test('integerRange: exactly the integers within the bounds', () => {
  const end = bound(fc.integer({ min: -1200, max: 1200 }));
  fc.assert(
    fc.property(end, end, (minimum, maximum) => {
      const range = matcher(integerRange({ minimum, maximum }));
      const wrong: number[] = [];
      for (let value = -1300; value <= 1300; value += 1) {
        if (range.test(String(value)) !== within(value, { minimum, maximum })) wrong.push(value);
      }
      expect(wrong).toEqual([]);
    }),
    { numRuns: 40 },
  );
});

test('integerRange: large integers are exact to the last digit', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), (one, other) => {
      const [low, high] = one < other ? [one, other] : [other, one];
      const range = matcher(
        integerRange({ minimum: { value: low, exclusive: false }, maximum: { value: high, exclusive: false } }),
      );
      const outside = [String(BigInt(low) - 1n), String(BigInt(high) + 1n)];
      expect([String(low), String(high)].every((text) => range.test(text))).toBe(true);
      expect(outside.some((text) => range.test(text))).toBe(false);
    }),
  );
});

test('numberRange: exactly the decimals within the bounds, of any length', () => {
  const hundredth = fc.integer({ min: -250, max: 250 }).map((value) => value / 100);
  fc.assert(
    fc.property(bound(hundredth), bound(hundredth), (minimum, maximum) => {
      const range = matcher(numberRange({ minimum, maximum }));
      const wrong: string[] = [];
      for (let thousandths = -2600; thousandths <= 2600; thousandths += 1) {
        const value = thousandths / 1000;
        const texts = value === 0 ? ['0'] : [String(value), value.toFixed(5)];
        wrong.push(...texts.filter((text) => range.test(text) !== within(value, { minimum, maximum })));
      }
      expect(wrong).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

test('numberRange: no leading zeros, bare point or minus zero', () => {
  const range = matcher(numberRange({ minimum: { value: -5, exclusive: false } }));
  expect(['01', '1.', '.5', '-0', '00', '1e3', ''].filter((text) => range.test(text))).toEqual([]);
});

test('integerRange, numberRange: undefined for an empty range', () => {
  expect(
    integerRange({ minimum: { value: 2, exclusive: true }, maximum: { value: 3, exclusive: true } }),
  ).toBeUndefined();
  expect(
    numberRange({ minimum: { value: 2, exclusive: true }, maximum: { value: 2, exclusive: false } }),
  ).toBeUndefined();
});

test.each([
  [0, 0n, ''],
  [-12.5, 12n, '5'],
  [1e-7, 0n, '0000001'],
  [1.25e-8, 0n, '0000000125'],
  [1e20, 100000000000000000000n, ''],
  [123456.75, 123456n, '75'],
])('decimal: %d in plain digits', (value, whole, fraction) => {
  expect(decimal(value)).toEqual({ whole, fraction });
});
