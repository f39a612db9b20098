import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { pngChunk, pngOf } from '../testing/pictures.ts';
import {
  exifComment,
  exifOrientation,
  imageHeader,
  imageTexts,
  isPng,
  pngChunks,
  pngTexts,
  withPngTexts,
} from './image-header.ts';

const source = pngOf(37, 21, [10, 200, 30, 255]);

describe('imageHeader', () => {
  test('reads size and texts of a PNG', () => {
    const png = withPngTexts(source, { parameters: 'a boat' });
    expect(imageHeader(png)).toEqual({ width: 37, height: 21, format: 'png' });
    expect(imageTexts(png)).toEqual({ parameters: 'a boat' });
  });

  test.each(['jpeg', 'webp'] as const)('reads the comment of a %s as its infotext', async (format) => {
    const told = sharp(source).withExif({ IFD0: { Artist: 'me' }, IFD2: { UserComment: 'a boat\nSteps: 4' } });
    const bytes = await told.toFormat(format).toBuffer();
    expect(imageHeader(bytes)).toEqual({ width: 37, height: 21, format });
    expect(imageTexts(bytes)).toEqual({ parameters: 'a boat\nSteps: 4' });
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
  ])('reads a %s written by sharp (%#)', async (format, make) => {
    const bytes = await make();
    expect(imageHeader(bytes)).toEqual({ width: 37, height: 21, format });
    expect(imageTexts(bytes)).toEqual({});
  });

  test('accepts data after the end of a JPEG', async () => {
    const jpeg = await sharp(source).jpeg().toBuffer();
    expect(imageHeader(Buffer.concat([jpeg, Buffer.from('a note of the camera')]))).toMatchObject({ width: 37 });
  });

  test.each(['png', 'jpeg', 'webp', 'gif'] as const)('is undefined for a truncated %s', async (format) => {
    const bytes = await sharp(source).toFormat(format).toBuffer();
    for (const length of [1, 8, 20, Math.floor(bytes.length / 2), bytes.length - 1]) {
      expect(imageHeader(bytes.subarray(0, length)), `${length} of ${bytes.length}`).toBeUndefined();
    }
  });

  test('is undefined for a picture without pixels', () => {
    expect(imageHeader(pngOf(0, 5))).toBeUndefined();
    expect(imageHeader(pngOf(5, 0))).toBeUndefined();
  });

  test('never throws for any bytes', () => {
    const heads = [
      Buffer.from([0xff, 0xd8]),
      Buffer.from('GIF89a'),
      Buffer.from('RIFF\x20\0\0\0WEBPVP8X'),
      source.subarray(0, 33),
    ];
    fc.assert(
      fc.property(fc.constantFrom(...heads, Buffer.alloc(0)), fc.uint8Array({ maxLength: 200 }), (head, rest) => {
        expect(() => imageHeader(Buffer.concat([head, rest]))).not.toThrow();
        expect(() => imageTexts(Buffer.concat([head, rest]))).not.toThrow();
      }),
    );
  });

  test.each(['jpeg', 'webp', 'png'] as const)(
    'imageHeader: the size of a %s is the one in which it is decoded, whichever way the camera was held',
    async (format) => {
      for (let orientation = 1; orientation <= 8; orientation++) {
        const bytes = await sharp(source).withMetadata({ orientation }).toFormat(format).toBuffer();
        const { info } = await sharp(bytes).autoOrient().toBuffer({ resolveWithObject: true });
        expect(imageHeader(bytes), `${orientation}`).toEqual({ width: info.width, height: info.height, format });
      }
    },
  );

  test('imageHeader: stops after a limited number of segments', () => {
    const none = pngChunk('teXt', Buffer.alloc(0));
    const chunks = Buffer.concat([source.subarray(0, 33), Buffer.alloc(12 * 200_000, none), source.subarray(33)]);
    expect(imageHeader(chunks)).toBeUndefined();
    const segments = Buffer.alloc(4 * 200_000, Buffer.from([0xff, 0xe2, 0, 2]));
    const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8]), segments, Buffer.from([0xff, 0xd9])]);
    expect(imageHeader(jpeg)).toBeUndefined();
  });

  test('imageTexts: decompresses a limited number of bytes', () => {
    const packed = deflateSync(Buffer.alloc(2 ** 20));
    const text = (index: number) => pngChunk('zTXt', Buffer.concat([Buffer.from(`t${index}\0\0`), packed]));
    const many = Buffer.concat([
      source.subarray(0, 33),
      ...Array.from({ length: 50 }, (_, index) => text(index)),
      source.subarray(33),
    ]);
    expect(Object.keys(imageTexts(many))).toEqual(['t0', 't1', 't2', 't3']);
  });
});

type Order = 'II' | 'MM';

/** EXIF data with a comment in the second directory, after other tags. */
function exifOf(comment: Buffer, { order = 'MM' as Order, marker = true, others = 1 } = {}): Buffer {
  const little = order === 'II';
  const half = (value: number) => {
    const bytes = Buffer.alloc(2);
    return little ? bytes.fill(0, bytes.writeUInt16LE(value)) : bytes.fill(0, bytes.writeUInt16BE(value));
  };
  const whole = (value: number) => {
    const bytes = Buffer.alloc(4);
    return little ? bytes.fill(0, bytes.writeUInt32LE(value)) : bytes.fill(0, bytes.writeUInt32BE(value));
  };
  const entry = (tag: number, kind: number, count: number, value: number) =>
    Buffer.concat([half(tag), half(kind), whole(count), whole(value)]);
  const directory = (...entries: readonly Buffer[]) => Buffer.concat([half(entries.length), ...entries, whole(0)]);
  const other = Array.from({ length: others }, (_, index) => entry(0x0100 + index, 3, 1, 7));
  const first = 8;
  const second = first + 2 + 12 * (others + 1) + 4;
  const text = second + 2 + 12 * (others + 1) + 4;
  return Buffer.concat([
    Buffer.from(marker ? 'Exif\0\0' : '', 'latin1'),
    Buffer.from(order, 'latin1'),
    half(42),
    whole(first),
    directory(...other, entry(0x8769, 4, 1, second)),
    directory(...other, entry(0x9286, 7, comment.length, text)),
    comment,
  ]);
}

const latin = (text: string, alphabet = 'ASCII\0\0\0') =>
  Buffer.concat([Buffer.from(alphabet, 'latin1'), Buffer.from(text, 'utf8')]);
const wide = (text: string, order: Order) => {
  const words = Buffer.from(text, 'utf16le');
  return Buffer.concat([Buffer.from('UNICODE\0', 'latin1'), order === 'II' ? words : words.swap16()]);
};
const story = 'a boat\nNegative prompt: fog\nSteps: 4, Sampler: Euler, CFG scale: 2, Seed: 5';

describe('exifComment', () => {
  test.each([
    ['plain', latin(story)],
    ['of no alphabet', latin(story, '\0'.repeat(8))],
    ['wide, the large byte first', wide(story, 'MM')],
    ['wide, the small byte first', wide(story, 'II')],
    ['ended by zeros', latin(`${story}\0\0`)],
  ])('reads a comment in %s, in both byte orders', (_, comment) => {
    for (const order of ['II', 'MM'] as const) {
      expect(exifComment(exifOf(comment, { order }))).toBe(story);
      expect(exifComment(exifOf(comment, { order, marker: false, others: 5 }))).toBe(story);
    }
  });

  test('reads all scripts', () => {
    const text = 'ein Boot, ein Fisch und 船 🛶';
    expect(exifComment(exifOf(wide(text, 'MM')))).toBe(text);
    expect(exifComment(exifOf(wide(text, 'II'), { order: 'II' }))).toBe(text);
  });

  test('uses the byte order of the file if the text is ambiguous', () => {
    expect(exifComment(exifOf(wide('船船', 'II'), { order: 'II' }))).toBe('船船');
    expect(exifComment(exifOf(wide('船船', 'MM'), { order: 'MM' }))).toBe('船船');
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['no EXIF', Buffer.from('something else entirely')],
    ['a head alone', exifOf(latin(story)).subarray(0, 14)],
    ['a comment that is cut off', exifOf(latin(story)).subarray(0, -1)],
    ['an alphabet without a text', exifOf(latin(''))],
    ['an unknown encoding', exifOf(latin(story, 'KLINGON\0'))],
    ['a comment longer than any', exifOf(latin('x'.repeat(2 ** 20)))],
  ])('is undefined for %s', (_, bytes) => {
    expect(exifComment(bytes)).toBeUndefined();
  });

  test('reads any text that was written', () => {
    const texts = fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' }).filter((text) => !text.includes('\0'));
    fc.assert(
      fc.property(texts, fc.constantFrom<Order>('II', 'MM'), (text, order) => {
        expect(exifComment(exifOf(latin(text), { order }))).toBe(text);
      }),
    );
  });

  test('never throws for any bytes', () => {
    const whole = exifOf(wide(story, 'MM'));
    fc.assert(
      fc.property(
        fc.nat(whole.length - 1),
        fc.integer({ min: 0, max: 255 }),
        fc.nat(whole.length),
        (at, value, end) => {
          const broken = Buffer.from(whole);
          broken[at] = value;
          expect(['string', 'undefined']).toContain(typeof exifComment(broken.subarray(0, end)));
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** EXIF data of directories, each a list of tag, type, count and value. */
function tiffOf(entries: readonly (readonly [number, number, number, number])[], at = 8): Buffer {
  const bytes = Buffer.alloc(at + 2 + 12 * entries.length + 4);
  bytes.write('II', 0, 'latin1');
  bytes.writeUInt16LE(42, 2);
  bytes.writeUInt32LE(at, 4);
  bytes.writeUInt16LE(entries.length, at);
  for (const [index, [tag, type, count, value]] of entries.entries()) {
    const place = at + 2 + 12 * index;
    bytes.writeUInt16LE(tag, place);
    bytes.writeUInt16LE(type, place + 2);
    bytes.writeUInt32LE(count, place + 4);
    bytes.writeUInt32LE(value, place + 8);
  }
  return bytes;
}

describe('hostile EXIF', () => {
  test('exifComment: a million zeros before the last letter take linear time', () => {
    const comment = exifComment(exifOf(latin(`${'\0'.repeat(2 ** 20 - 100)}x`)));
    expect(comment?.length).toBe(2 ** 20 - 99);
  });

  test.each([
    ['a directory that leads to itself', tiffOf([[0x8769, 4, 1, 8]])],
    ['a directory beyond the end', tiffOf([[0x8769, 4, 1, 0xffffffff]])],
    [
      'a comment beyond the end',
      tiffOf([
        [0x8769, 4, 1, 8],
        [0x9286, 7, 100, 0xfffffff0],
      ]),
    ],
    [
      'a comment of absurd length',
      tiffOf([
        [0x8769, 4, 1, 8],
        [0x9286, 7, 0xffffffff, 8],
      ]),
    ],
    ['more entries than there are bytes', Buffer.concat([tiffOf([]).subarray(0, 8), Buffer.from([0xff, 0xff])])],
  ])('exifComment: is undefined for %s', (_, bytes) => {
    expect(exifComment(bytes)).toBeUndefined();
    expect(exifOrientation(bytes)).toBe(1);
  });

  test('exifOrientation: reads 1 to 8, and 1 for anything else', () => {
    for (let value = 1; value <= 8; value++) expect(exifOrientation(tiffOf([[0x0112, 3, 1, value]]))).toBe(value);
    for (const value of [0, 9, 65535]) expect(exifOrientation(tiffOf([[0x0112, 3, 1, value]]))).toBe(1);
  });

  test('exif: never throws for any bytes after a valid header', () => {
    const head = fc.constantFrom(Buffer.from('II*\0', 'latin1'), Buffer.from('MM\0*', 'latin1'));
    fc.assert(
      fc.property(head, fc.uint8Array({ maxLength: 120 }), (start, rest) => {
        const bytes = Buffer.concat([start, rest]);
        expect(() => [exifComment(bytes), exifOrientation(bytes)]).not.toThrow();
      }),
    );
  });
});

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
