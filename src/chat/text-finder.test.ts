import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TextFinder } from './text-finder.ts';

describe('looking for many texts in one', () => {
  test('finds what is there and nothing else, in whatever order it is asked for', () =>
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 60 }),
        fc.array(fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 5 }), { maxLength: 12 }),
        (text, wanted) => {
          const finder = new TextFinder(text);
          expect(wanted.map((one) => finder.has(one))).toEqual(wanted.map((one) => text.includes(one)));
        },
      ),
    ));

  test('texts that stand in order cost one walk, however many there are', () => {
    const wanted = Array.from({ length: 10_000 }, (_, index) => `<${index}>`);
    const text = wanted.join(' and ');
    const finder = new TextFinder(text);
    const before = finder.left;
    expect(wanted.every((one) => finder.has(one))).toBe(true);
    expect(before - finder.left).toBeLessThanOrEqual(text.length);
  });

  test('gives up instead of walking through all of it again and again', () => {
    const text = 'x'.repeat(1000);
    const finder = new TextFinder(text);
    let asked = 0;
    while (finder.left >= 0) {
      expect(finder.has('y')).toBe(false);
      asked++;
    }
    expect(asked).toBeLessThan(40);
    expect(finder.has('x')).toBe(false);
  });
});
