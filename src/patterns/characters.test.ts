import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../core/testing/any-character.ts';
import {
  type Characters,
  complement,
  includes,
  onlyOne,
  overlaps,
  single,
  Utf8Characters,
  union,
  without,
} from './characters.ts';

const last = 0x10ffff;
const code = fc.oneof(fc.integer({ min: 0, max: 30 }), fc.constantFrom(0, 0x7f, 0x80, 0xffff, 0x10000, last));
const range = fc.tuple(code, code).map(([a, b]): [number, number] => [Math.min(a, b), Math.max(a, b)]);
const set = fc.array(range, { maxLength: 5 }).map((ranges): Characters => union(ranges));
const has = (ranges: Characters, value: number) => ranges.some(([from, to]) => from <= value && value <= to);

describe('Characters', () => {
  test('union: has all characters, in sorted disjoint ranges', () => {
    fc.assert(
      fc.property(fc.array(range, { maxLength: 6 }), code, (ranges, one) => {
        const made = union(...ranges.map((each): Characters => [each]));
        expect(includes(made, one)).toBe(has(ranges, one));
        made.forEach(([from], index) => {
          const before = made[index - 1];
          if (before) expect(from).toBeGreaterThan(before[1] + 1);
        });
      }),
    );
  });

  test('complement: has exactly the other characters', () => {
    fc.assert(
      fc.property(set, code, (one, value) => {
        expect(includes(complement(one), value)).toBe(!includes(one, value));
        expect(complement(complement(one))).toEqual(one);
        expect(union(one, complement(one))).toEqual([[0, last]]);
      }),
    );
  });

  test('without: has the characters of the first set only', () => {
    fc.assert(
      fc.property(set, set, code, (one, other, value) => {
        expect(includes(without(one, other), value)).toBe(includes(one, value) && !includes(other, value));
      }),
    );
  });

  test('overlaps: true if any character is in the range', () => {
    fc.assert(
      fc.property(set, range, (one, [lowest, highest]) => {
        const common = without(one, complement([[lowest, highest]]));
        expect(overlaps(one, lowest, highest)).toBe(common.length > 0);
      }),
    );
  });

  test('onlyOne: the character of a set of one', () => {
    expect(onlyOne(single('é'))).toBe('é');
    expect(onlyOne(single('😀'))).toBe('😀');
    expect(onlyOne([[97, 98]])).toBeUndefined();
    expect(onlyOne([])).toBeUndefined();
    expect(onlyOne([...single('a'), ...single('c')])).toBeUndefined();
  });
});

function read(bytes: Uint8Array): readonly [text: string, position: number][] {
  const characters = new Utf8Characters();
  const found: [string, number][] = [];
  bytes.forEach((byte, position) => {
    characters.push(byte, position, (code, start) => found.push([String.fromCodePoint(code), start]));
  });
  return found;
}

test('Utf8Characters: decodes any text, with byte positions', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const found = read(Buffer.from(text));
      expect(found.map(([character]) => character).join('')).toBe(text);
      let position = 0;
      for (const [character, start] of found) {
        expect(start).toBe(position);
        position += Buffer.byteLength(character);
      }
    }),
  );
});

test('Utf8Characters: invalid bytes become U+FFFD, and nothing is lost', () => {
  expect(read(Uint8Array.of(0xff, 0x61))).toEqual([
    ['�', 0],
    ['a', 1],
  ]);
  expect(read(Uint8Array.of(0xe2, 0x86, 0x61))).toEqual([
    ['�', 0],
    ['a', 2],
  ]);
  expect(read(Uint8Array.of(0xf4, 0xbf, 0xbf, 0xbf))).toEqual([['�', 0]]);
  expect(read(Uint8Array.of(0xe2, 0x86))).toEqual([]);
});

test('Utf8Characters: accepts any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      for (const [character] of read(bytes)) expect(character.length).toBeGreaterThan(0);
    }),
  );
});
