import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Medium } from '../../../../core/request.ts';
import { chunk, readImage } from '../testing/media.ts';
import { checkFile, fittingSize, imageSize, MediaStore, type Projector, readMedia, shrinkImage } from './projector.ts';

/** Each takes 40 bytes. */
const medium = (id: number) => readImage(chunk(id, 10));

test('MediaStore: evicts the least recently used', () => {
  const store = new MediaStore(100);
  store.put('a', medium(-2));
  store.put('b', medium(-20));
  expect(store.get('a')).toBeDefined();
  store.put('c', medium(-40));
  expect(['a', 'b', 'c'].map((key) => store.get(key) !== undefined)).toEqual([true, false, true]);
});

test('MediaStore: the same medium is stored once', () => {
  const store = new MediaStore(100);
  for (let round = 0; round < 5; round += 1) store.put('a', medium(-2 - round));
  store.put('b', medium(-20));
  expect(store.get('a')).toEqual(medium(-6));
});

test('MediaStore: does not store what exceeds the limit', () => {
  const store = new MediaStore(30);
  store.put('a', medium(-2));
  expect(store.get('a')).toBeUndefined();
});

const image: Medium = { kind: 'image', base64: 'AA' };
const audio: Medium = { kind: 'audio', base64: 'AA' };

function world(inputs = { image: true, audio: true }) {
  const numbers: string[] = [];
  let stopped = false;
  const projector = {
    inputs,
    read: async ({ kind }: Medium, number: number) => {
      numbers.push(`${kind} ${number}`);
      return readImage();
    },
  } as unknown as Projector;
  return {
    projector,
    numbers,
    exclusively: <Result>(work: () => Promise<Result>) => work(),
    stopped: () => stopped,
    stop: () => {
      stopped = true;
    },
  };
}

test('readMedia: reads media in order, numbered by kind', async () => {
  const { projector, numbers, exclusively, stopped } = world();
  expect(await readMedia(projector, [image, audio, image], exclusively, stopped)).toHaveLength(3);
  expect(numbers).toEqual(['image 1', 'audio 1', 'image 2']);
});

test('readMedia: rejects an unsupported kind before reading', async () => {
  const { projector, numbers, exclusively, stopped } = world({ image: true, audio: false });
  const readBoth = readMedia(projector, [image, audio], exclusively, stopped);
  await expect(readBoth).rejects.toThrow('Audio input is not possible');
  await expect(readMedia(undefined, [image], exclusively, stopped)).rejects.toThrow('--mmproj FILE');
  expect(numbers).toEqual([]);
});

test('readMedia: reads nothing after an abort', async () => {
  const { projector, numbers, exclusively, stopped, stop } = world();
  const read = readMedia(projector, [image, image, image], exclusively, stopped);
  stop();
  expect(await read).toBeUndefined();
  expect(numbers).toEqual(['image 1']);
});

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

test.each([
  ['a PNG', hex('89504e470d0a1a0a 0000000d 49484452 00000300 00000200 08'), { width: 768, height: 512 }],
  ['a GIF', hex('474946383961 2c01 c800'), { width: 300, height: 200 }],
  ['a BMP', hex(`424d ${'00'.repeat(12)} 28000000 40000000 30000000`), { width: 64, height: 48 }],
  ['a BMP from top to bottom', hex(`424d ${'00'.repeat(12)} 28000000 40000000 d0ffffff`), { width: 64, height: 48 }],
  ['a JPEG', hex('ffd8 ffe0 0004 aabb ffff c0 0011 08 0010 0020 03'), { width: 32, height: 16 }],
  ['a progressive JPEG', hex('ffd8 ffdb 0003 00 ffc4 0002 ffc2 0011 08 0100 0200'), { width: 512, height: 256 }],
  ['a cut PNG', hex('89504e470d0a1a0a 0000'), undefined],
  ['a cut JPEG', hex('ffd8 ffe0 ffff'), undefined],
  ['a WebP', Buffer.from('RIFF1234WEBPVP8 '), undefined],
  ['text', Buffer.from('<svg/>'), undefined],
  ['nothing', Buffer.alloc(0), undefined],
])('imageSize: %s', (_, file, size) => expect(imageSize(file)).toEqual(size));

test.each([
  [{ width: 4000, height: 2000 }, 1024, { width: 1024, height: 512 }],
  [{ width: 300, height: 900 }, 600, { width: 200, height: 600 }],
  [{ width: 300, height: 200 }, 1024, { width: 300, height: 200 }],
  [{ width: 5000, height: 1 }, 500, { width: 500, height: 1 }],
])('fittingSize: %j within %i is %j', (size, side, expected) => expect(fittingSize(size, side)).toEqual(expected));

test('shrinkImage: a new pixel is the mean of those that it replaces', () => {
  const pixels = Uint8Array.of(0, 10, 20, 100, 30, 40, 0, 10, 20, 100, 30, 40);
  expect([...shrinkImage(pixels, { width: 2, height: 2 }, { width: 1, height: 1 })]).toEqual([50, 20, 30]);
});

test('shrinkImage: one colour is unchanged at any size', () => {
  const side = fc.integer({ min: 1, max: 40 });
  fc.assert(
    fc.property(side, side, side, (width, height, maxSide) => {
      const to = fittingSize({ width, height }, maxSide);
      const pixels = new Uint8Array(width * height * 3).fill(77);
      const result = shrinkImage(pixels, { width, height }, to);
      expect(result.length).toBe(to.width * to.height * 3);
      expect(result.every((value) => value === 77)).toBe(true);
    }),
  );
});

const png = (width: number, height: number) => {
  const file = Buffer.alloc(40);
  file.write('89504e470d0a1a0a', 'hex');
  file.writeUInt32BE(width, 16);
  file.writeUInt32BE(height, 20);
  return file;
};

test.each([
  ['image', png(10_000, 10_000)],
  ['audio', Buffer.from('RIFF....WAVEfmt ')],
  ['audio', Buffer.from('fLaC....................')],
  ['audio', Buffer.from('ID3.....................')],
  ['audio', Buffer.concat([Buffer.from([0xff, 0xfb]), Buffer.alloc(20)])],
] as const)('checkFile: accepts %s', (kind, file) => expect(() => checkFile(kind, file, 1)).not.toThrow());

test.each([
  [
    'image',
    png(10_001, 10_000),
    'images must be pictures of at most 100 million pixels, and number 3 has 10001 × 10000.',
  ],
  ['image', png(0, 5), 'images must be PNG, JPEG, GIF or BMP pictures in base64, and number 3 cannot be read as one.'],
  ['image', Buffer.from('RIFF....WAVEfmt '), 'number 3 cannot be read as one'],
  ['audio', png(5, 5), 'audio must be WAV, MP3 or FLAC sounds in base64, and number 3 cannot be read as one.'],
  ['audio', Buffer.from('RIFF....AVI '), 'audio must be'],
  ['audio', Buffer.alloc(3), 'audio must be'],
] as const)('checkFile: rejects other data as %s', (kind, file, sentence) =>
  expect(() => checkFile(kind, file, 3)).toThrow(sentence),
);
