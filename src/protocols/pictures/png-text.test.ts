import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pngChunk, pngOf } from '../testing/pictures.ts';
import { isPng, pngChunks, pngTexts, withPngTexts } from './png-text.ts';

const picture = pngOf(4, 3);

function withChunk(type: string, data: Buffer): Buffer {
  return Buffer.concat([picture.subarray(0, 33), pngChunk(type, data), picture.subarray(33)]);
}

describe('withPngTexts', () => {
  test('writes Latin-1 texts as tEXt after the IHDR chunk', () => {
    const png = withPngTexts(picture, { parameters: 'a lighthouse, café' });
    const [head, text, ...others] = [...pngChunks(png)];
    expect(head?.type).toBe('IHDR');
    expect(text?.type).toBe('tEXt');
    expect(text?.data.toString('latin1')).toBe('parameters\0a lighthouse, café');
    expect(others.map(({ type }) => type)).toEqual(['IDAT', 'IEND']);
  });

  test('writes other texts as iTXt', () => {
    const png = withPngTexts(picture, { parameters: '灯台' });
    expect([...pngChunks(png)].map(({ type }) => type)).toEqual(['IHDR', 'iTXt', 'IDAT', 'IEND']);
    expect(pngTexts(png)).toEqual({ parameters: '灯台' });
  });

  test('writes valid checksums', () => {
    const png = withPngTexts(picture, { parameters: 'x' });
    const expected = pngChunk('tEXt', Buffer.from('parameters\0x', 'latin1'));
    expect(png.subarray(33, 33 + expected.length)).toEqual(expected);
  });

  test('pngTexts: reads what was written, and the picture is unchanged', () => {
    const keyword = fc.stringMatching(/^[a-z][a-z ]{0,30}$/);
    fc.assert(
      fc.property(fc.dictionary(keyword, fc.string({ unit: 'grapheme' })), (texts) => {
        const png = withPngTexts(picture, texts);
        const plain = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, text.replaceAll('\0', '')]));
        expect(pngTexts(png)).toEqual({ ...plain });
        const kept = [...pngChunks(png)].filter(({ type }) => !/Xt$/.test(type));
        expect(kept).toEqual([...pngChunks(picture)]);
      }),
      { numRuns: 60 },
    );
  });

  test('leaves out invalid keywords', () => {
    expect(withPngTexts(picture, { '': 'a', ['x'.repeat(80)]: 'b', 'a\nb': 'c', 灯: 'd' })).toEqual(picture);
  });

  test('pngTexts: reads compressed texts', () => {
    const packed = deflateSync(Buffer.from('words'));
    expect(pngTexts(withChunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0'), packed])))).toEqual({
      Comment: 'words',
    });
    const international = Buffer.concat([Buffer.from('Comment\0\x01\0en\0Wort\0'), packed]);
    expect(pngTexts(withChunk('iTXt', international))).toEqual({ Comment: 'words' });
  });

  test('pngTexts: skips texts that are too large or broken', () => {
    const bomb = deflateSync(Buffer.alloc(8 * 2 ** 20));
    expect(pngTexts(withChunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0'), bomb])))).toEqual({});
    expect(pngTexts(withChunk('zTXt', Buffer.from('Comment\0\0nonsense')))).toEqual({});
    expect(pngTexts(withChunk('tEXt', Buffer.from('no end of a keyword')))).toEqual({});
    expect(pngTexts(withChunk('iTXt', Buffer.from('keyword\0\0\0')))).toEqual({});
  });

  test('pngTexts: never throws for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(picture.length), (noise, at) => {
        const broken = Buffer.concat([picture.subarray(0, at), noise]);
        expect(() => pngTexts(broken)).not.toThrow();
        expect([...pngChunks(broken)].length).toBeLessThan(300);
      }),
    );
  });
});

describe('PNG structure', () => {
  test('isPng: checks the signature', () => {
    expect(isPng(picture)).toBe(true);
    expect(isPng(picture.subarray(0, 20))).toBe(false);
    expect(isPng(Buffer.from('not a picture at all, but long enough to be one'))).toBe(false);
  });

  test('pngChunks: ends without IEND for a truncated file', () => {
    const types = [...pngChunks(picture.subarray(0, picture.length - 4))].map(({ type }) => type);
    expect(types).toEqual(['IHDR', 'IDAT']);
  });
});
