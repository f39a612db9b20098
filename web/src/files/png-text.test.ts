import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPng, pngTexts } from './png-text.ts';
import { pngOf, textChunk } from './testing/png.ts';
import { Unreadable } from './unreadable.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test('pngTexts: finds text chunks by keyword', () => {
  const file = pngOf(
    ['IHDR', new Uint8Array(13)],
    textChunk('Chara', 'abc'),
    ['IDAT', new Uint8Array(500)],
    textChunk('ccv3', 'def'),
  );
  expect(pngTexts(file)).toEqual(
    new Map([
      ['chara', 'abc'],
      ['ccv3', 'def'],
    ]),
  );
});

test('pngTexts: returns the first of two texts with one keyword', () => {
  expect(pngTexts(pngOf(textChunk('chara', '1'), textChunk('chara', '2'))).get('chara')).toBe('1');
});

test('pngTexts: reads uncompressed iTXt chunks', () => {
  const plain = pngOf(['iTXt', bytes('chara\0\0\0en\0Karte\0grün')]);
  expect(pngTexts(plain).get('chara')).toBe('grün');
  const packedOne = pngOf(['iTXt', Uint8Array.of(...bytes('chara\0'), 1, 0, 0, 0, 9)]);
  expect(pngTexts(packedOne).size).toBe(0);
  expect(pngTexts(pngOf(['iTXt', bytes('chara\0\0\0en')])).size).toBe(0);
});

test('pngTexts: skips chunks without a keyword', () => {
  expect(pngTexts(pngOf(['tEXt', bytes('\0x')], ['tEXt', bytes('no zero')])).size).toBe(0);
});

test('pngTexts: throws for other files and truncated ones', () => {
  expect(isPng(bytes('GIF89a'))).toBe(false);
  expect(() => pngTexts(bytes('GIF89a'))).toThrow('This is not a PNG file.');
  const whole = pngOf(textChunk('chara', 'a'.repeat(50)), ['IDAT', new Uint8Array(50)]);
  fc.assert(
    fc.property(fc.integer({ min: 8, max: whole.length - 1 }), (length) => {
      expect(() => pngTexts(whole.subarray(0, length))).toThrow(Unreadable);
    }),
  );
});

test('pngTexts: throws for a chunk longer than the file', () => {
  const file = pngOf(textChunk('chara', 'abc'));
  new DataView(file.buffer).setUint32(8, 0xffffffff);
  expect(() => pngTexts(file)).toThrow('truncated');
});
