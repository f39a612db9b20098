import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exifComment, exifOrientation } from './picture-facts.ts';

type Order = 'II' | 'MM';

/** An EXIF part as programs write it: one directory that leads to another, and there the comment, behind other tags. */
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

describe('the comment of a photograph', () => {
  test.each([
    ['plain', latin(story)],
    ['of no alphabet', latin(story, '\0'.repeat(8))],
    ['wide, the large byte first', wide(story, 'MM')],
    ['wide, the small byte first', wide(story, 'II')],
    ['ended by zeros', latin(`${story}\0\0`)],
  ])('is read where it is %s, whatever the order of the file', (_, comment) => {
    for (const order of ['II', 'MM'] as const) {
      expect(exifComment(exifOf(comment, { order }))).toBe(story);
      expect(exifComment(exifOf(comment, { order, marker: false, others: 5 }))).toBe(story);
    }
  });

  test('keeps letters of every alphabet', () => {
    const text = 'ein Boot, ein Fisch und 船 🛶';
    expect(exifComment(exifOf(wide(text, 'MM')))).toBe(text);
    expect(exifComment(exifOf(wide(text, 'II'), { order: 'II' }))).toBe(text);
  });

  test('goes by the order of the file where its letters do not tell', () => {
    expect(exifComment(exifOf(wide('船船', 'II'), { order: 'II' }))).toBe('船船');
    expect(exifComment(exifOf(wide('船船', 'MM'), { order: 'MM' }))).toBe('船船');
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['no EXIF', Buffer.from('something else entirely')],
    ['a head alone', exifOf(latin(story)).subarray(0, 14)],
    ['a comment that is cut off', exifOf(latin(story)).subarray(0, -1)],
    ['an alphabet without a text', exifOf(latin(''))],
    ['an alphabet that nobody knows', exifOf(latin(story, 'KLINGON\0'))],
    ['a comment longer than any', exifOf(latin('x'.repeat(2 ** 20)))],
  ])('is nothing for %s', (_, bytes) => {
    expect(exifComment(bytes)).toBeUndefined();
  });

  test('is whatever was written', () => {
    const texts = fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' }).filter((text) => !text.includes('\0'));
    fc.assert(
      fc.property(texts, fc.constantFrom<Order>('II', 'MM'), (text, order) => {
        expect(exifComment(exifOf(latin(text), { order }))).toBe(text);
      }),
    );
  });

  test('never fails, whatever the bytes are', () => {
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

/** Directories by hand: each a list of entries of tag, type, count and value. */
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
  ])('exifComment: gives nothing for %s', (_, bytes) => {
    expect(exifComment(bytes)).toBeUndefined();
    expect(exifOrientation(bytes)).toBe(1);
  });

  test('exifOrientation: reads 1 to 8 and takes all else for upright', () => {
    for (let value = 1; value <= 8; value++) expect(exifOrientation(tiffOf([[0x0112, 3, 1, value]]))).toBe(value);
    for (const value of [0, 9, 65535]) expect(exifOrientation(tiffOf([[0x0112, 3, 1, value]]))).toBe(1);
  });

  test('exif: any bytes behind a right beginning are read without harm', () => {
    const head = fc.constantFrom(Buffer.from('II*\0', 'latin1'), Buffer.from('MM\0*', 'latin1'));
    fc.assert(
      fc.property(head, fc.uint8Array({ maxLength: 120 }), (start, rest) => {
        const bytes = Buffer.concat([start, rest]);
        expect(() => [exifComment(bytes), exifOrientation(bytes)]).not.toThrow();
      }),
    );
  });
});
