import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Utf8Characters } from './utf8.ts';

function read(bytes: Uint8Array): readonly [text: string, place: number][] {
  const characters = new Utf8Characters();
  const found: [string, number][] = [];
  bytes.forEach((byte, place) => {
    characters.push(byte, place, (code, start) => found.push([String.fromCodePoint(code), start]));
  });
  return found;
}

test('any text comes back, each character with the place of its first byte', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const found = read(Buffer.from(text));
      expect(found.map(([character]) => character).join('')).toBe(text);
      let place = 0;
      for (const [character, start] of found) {
        expect(start).toBe(place);
        place += Buffer.byteLength(character);
      }
    }),
  );
});

test('what is no text counts as characters that cannot be shown, and nothing after it is lost', () => {
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

test('any bytes are read', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      for (const [character] of read(bytes)) expect(character.length).toBeGreaterThan(0);
    }),
  );
});
