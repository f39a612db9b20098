import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { pngChunk, pngOf } from '../testing/pictures.ts';
import { pictureFacts, pictureTexts } from './picture-facts.ts';
import { withPngTexts } from './png-text.ts';

const source = pngOf(37, 21, [10, 200, 30, 255]);

describe('the facts of a picture', () => {
  test('are those of a PNG, with its texts', () => {
    const png = withPngTexts(source, { parameters: 'a boat' });
    expect(pictureFacts(png)).toEqual({ width: 37, height: 21, format: 'png' });
    expect(pictureTexts(png)).toEqual({ parameters: 'a boat' });
  });

  test.each(['jpeg', 'webp'] as const)('have the comment of a %s, which is its story', async (format) => {
    const told = sharp(source).withExif({ IFD0: { Artist: 'me' }, IFD2: { UserComment: 'a boat\nSteps: 4' } });
    const bytes = await told.toFormat(format).toBuffer();
    expect(pictureFacts(bytes)).toEqual({ width: 37, height: 21, format });
    expect(pictureTexts(bytes)).toEqual({ parameters: 'a boat\nSteps: 4' });
  });

  test.each([
    ['jpeg', () => sharp(source).jpeg().toBuffer()],
    ['jpeg', () => sharp(source).jpeg({ progressive: true }).toBuffer()],
    [
      'jpeg',
      () =>
        sharp(source)
          .withExif({ IFD0: { Copyright: 'nobody' } })
          .jpeg()
          .toBuffer(),
    ],
    ['webp', () => sharp(source).webp().toBuffer()],
    ['webp', () => sharp(source).webp({ lossless: true }).toBuffer()],
    [
      'webp',
      () =>
        sharp(source)
          .withExif({ IFD0: { Copyright: 'nobody' } })
          .webp()
          .toBuffer(),
    ],
    ['gif', () => sharp(source).gif().toBuffer()],
  ])('are read from a %s as the library writes it (%#)', async (format, make) => {
    const bytes = await make();
    expect(pictureFacts(bytes)).toEqual({ width: 37, height: 21, format });
    expect(pictureTexts(bytes)).toEqual({});
  });

  test('may be followed by something else in a JPEG', async () => {
    const jpeg = await sharp(source).jpeg().toBuffer();
    expect(pictureFacts(Buffer.concat([jpeg, Buffer.from('a note of the camera')]))).toMatchObject({ width: 37 });
  });

  test.each(['png', 'jpeg', 'webp', 'gif'] as const)('are not those of a %s that is cut off', async (format) => {
    const bytes = await sharp(source).toFormat(format).toBuffer();
    for (const length of [1, 8, 20, Math.floor(bytes.length / 2), bytes.length - 1]) {
      expect(pictureFacts(bytes.subarray(0, length)), `${length} of ${bytes.length}`).toBeUndefined();
    }
  });

  test('of a picture without any pixel are none', () => {
    expect(pictureFacts(pngOf(0, 5))).toBeUndefined();
    expect(pictureFacts(pngOf(5, 0))).toBeUndefined();
  });

  test('are asked of anything without harm', () => {
    const heads = [
      Buffer.from([0xff, 0xd8]),
      Buffer.from('GIF89a'),
      Buffer.from('RIFF\x20\0\0\0WEBPVP8X'),
      source.subarray(0, 33),
    ];
    fc.assert(
      fc.property(fc.constantFrom(...heads, Buffer.alloc(0)), fc.uint8Array({ maxLength: 200 }), (head, rest) => {
        expect(() => pictureFacts(Buffer.concat([head, rest]))).not.toThrow();
        expect(() => pictureTexts(Buffer.concat([head, rest]))).not.toThrow();
      }),
    );
  });

  test.each(['jpeg', 'webp', 'png'] as const)(
    'pictureFacts: the size of a %s is the one in which it is decoded, whichever way the camera was held',
    async (format) => {
      for (let orientation = 1; orientation <= 8; orientation++) {
        const bytes = await sharp(source).withMetadata({ orientation }).toFormat(format).toBuffer();
        const { info } = await sharp(bytes).autoOrient().toBuffer({ resolveWithObject: true });
        expect(pictureFacts(bytes), `${orientation}`).toEqual({ width: info.width, height: info.height, format });
      }
    },
  );

  test('pictureFacts: gives up on millions of tiny parts', () => {
    const none = pngChunk('teXt', Buffer.alloc(0));
    const chunks = Buffer.concat([source.subarray(0, 33), Buffer.alloc(12 * 200_000, none), source.subarray(33)]);
    expect(pictureFacts(chunks)).toBeUndefined();
    const segments = Buffer.alloc(4 * 200_000, Buffer.from([0xff, 0xe2, 0, 2]));
    const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8]), segments, Buffer.from([0xff, 0xd9])]);
    expect(pictureFacts(jpeg)).toBeUndefined();
  });

  test('pictureTexts: unpacks a bounded number of bytes, however many packed texts there are', () => {
    const packed = deflateSync(Buffer.alloc(2 ** 20));
    const text = (index: number) => pngChunk('zTXt', Buffer.concat([Buffer.from(`t${index}\0\0`), packed]));
    const many = Buffer.concat([
      source.subarray(0, 33),
      ...Array.from({ length: 50 }, (_, index) => text(index)),
      source.subarray(33),
    ]);
    expect(Object.keys(pictureTexts(many))).toEqual(['t0', 't1', 't2', 't3']);
  });
});
