import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { whole } from '../core/slices.ts';
import { LargeJsonError, parseLargeJson } from './large-json.ts';

/** Pieces of a few bytes, so that a small text is taken apart everywhere. */
const read = (text: string, pieceBytes = 4, deepest = 128): unknown =>
  whole(parseLargeJson(Buffer.from(text), deepest, pieceBytes));

const spaced = (value: unknown, space: string): string => JSON.stringify(value, null, space);

/** The result of the parser, or `refused`: error messages may differ. */
function outcome(parse: () => unknown): unknown {
  try {
    return { value: parse() };
  } catch (error) {
    return error instanceof SyntaxError || error instanceof LargeJsonError ? 'refused' : error;
  }
}

describe('parseLargeJson', () => {
  test('gives the same value as JSON.parse', () =>
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.constantFrom('', ' ', '\t'),
        fc.integer({ min: 1, max: 60 }),
        (value, space, size) => {
          const text = spaced(value, space);
          expect(read(text, size)).toEqual(JSON.parse(text));
        },
      ),
      { numRuns: 500 },
    ));

  test('keeps the order of keys, including numeric and duplicate ones', () => {
    const text = '{"b":[1,2,3,4,5],"a":{"x":"yyyyyyyy"},"2":1,"1":2,"b":[9,9,9,9,9,9]}';
    expect(Object.entries(read(text) as object)).toEqual(Object.entries(JSON.parse(text) as object));
  });

  test('treats __proto__ as an ordinary key', () => {
    const text = '{"__proto__":[1,2,3,4,5,6],"a":[1,2,3,4,5,6],"c":{"__proto__":{"__proto__":1111111111}}}';
    const value = read(text) as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(['__proto__', 'a', 'c']);
    expect(JSON.stringify(value)).toBe(text);
  });

  test('ignores brackets, commas and quotes in strings', () => {
    const value = { 'a,[{"': ['],}', '\\', '\\"', '"', ',,,,,,,,,,'], é: ['ü'.repeat(20), '🙂,🙂'] };
    expect(read(JSON.stringify(value))).toEqual(value);
  });

  test('accepts and rejects the same texts as JSON.parse after any change of one byte', () =>
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.nat(),
        fc.constantFrom('', ',', ':', '[', ']', '{', '}', '"', '1', ' ', 'null', '\\'),
        fc.boolean(),
        fc.integer({ min: 1, max: 12 }),
        (value, at, put, replaces, size) => {
          const text = JSON.stringify(value);
          const place = at % (text.length + 1);
          const broken = text.slice(0, place) + put + text.slice(place + (replaces ? 1 : 0));
          expect(outcome(() => read(broken, size))).toEqual(outcome(() => JSON.parse(broken)));
        },
      ),
      { numRuns: 3000 },
    ));

  test.each([
    ['[1,2,3,4,,5]', 'unexpected'],
    ['[1,2,3,4,5,]', 'unexpected'],
    ['[,1,2,3,4,5]', 'unexpected'],
    ['{"a":[1,2,3,4,5],}', 'unexpected "}" at byte 17'],
    ['{"a":[1,2,3,4,5]]', 'unexpected "]" at byte 16'],
    ['{"a" [1,2,3,4,5]}', 'unexpected "[" at byte 5'],
    ['{"a":[1,2,3,4,5] [1,2,3,4,5]}', 'unexpected'],
    ['[[1,2,3,4,5] x]', 'unexpected "x" at byte 13'],
    ['[1,2,3,4] []', 'unexpected'],
    ['x [1,2,3,4]', 'unexpected "x" at byte 0'],
    ['[1,2,3,4', 'unexpected end of JSON input'],
    ['["1,2,3,4', 'a string has no end'],
    ['[1,2,3,4,5,tru]', 'at or behind byte'],
  ])('rejects %s: %s', (text, reason) => {
    expect(() => read(text)).toThrow(reason);
    expect(() => JSON.parse(text)).toThrow();
  });

  test('limits the depth as parseJson does', () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    expect(() => read(nested(6), 1, 5)).toThrow('nested deeper than 5 levels');
    expect(read(nested(5), 1, 5)).toEqual([[[[[]]]]]);
    expect(() => read('['.repeat(1_000_000), 64_000)).toThrow('nested deeper than 128 levels');
  });

  test('yields to the event loop in proportion to the length', () => {
    const steps = (count: number): number => {
      const text = JSON.stringify({ messages: Array.from({ length: count }, () => ({ role: 'user', content: 'a' })) });
      const work = parseLargeJson(Buffer.from(text), 128, 1000);
      let taken = 0;
      while (!work.next().done) taken++;
      return taken;
    };
    const few = steps(1000);
    expect(few).toBeGreaterThan(50);
    expect(steps(2000) / few).toBeCloseTo(2, 1);
  });
});
