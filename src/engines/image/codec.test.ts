import fc from 'fast-check';
import sharp, { type Color } from 'sharp';
import { describe, expect, test } from 'vitest';
import type { AppError } from '../../core/errors.ts';
import {
  alphaOf,
  blended,
  blurred,
  extended,
  fromPlanes,
  opaque,
  type Pixels,
  readImage,
  readMask,
  resized,
  toPlanes,
  withAlpha,
  withoutAlpha,
  writePng,
} from './codec.ts';

const red = { r: 255, g: 0, b: 0 };
const plain = (width: number, height: number, background: Color = red, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background } });
const image = (bytes: Uint8Array, field = 'image') => readImage({ bytes, field });
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => 'taken',
    (error: AppError) => `${error.status} ${error.message}`,
  );
const first = ({ data, channels }: Pixels) => [...data.subarray(0, channels)];

describe('readImage', () => {
  test.each(['png', 'jpeg', 'webp', 'gif', 'tiff', 'avif'] as const)('is read as %s', async (format) => {
    const pixels = await image(await plain(6, 4).toFormat(format).toBuffer());
    expect([pixels.width, pixels.height]).toEqual([6, 4]);
    const [r = 0, g = 0, b = 0] = first(pixels);
    expect(r).toBeGreaterThan(240);
    expect(g + b).toBeLessThan(30);
  });

  test('grey becomes RGB', async () => {
    const pixels = await image(await plain(2, 2).greyscale().png().toBuffer());
    expect(pixels.channels).toBe(3);
    expect(new Set(first(pixels)).size).toBe(1);
  });

  test('grey with alpha becomes RGBA', async () => {
    const grey = await plain(2, 2, { ...red, alpha: 0.5 }, 4)
      .greyscale()
      .png()
      .toBuffer();
    expect((await image(grey)).channels).toBe(4);
  });

  test('16 bits become 8', async () => {
    const deep = await plain(2, 2).toColourspace('rgb16').png().toBuffer();
    expect((await sharp(deep).metadata()).depth).toBe('ushort');
    expect(first(await image(deep))).toEqual([255, 0, 0]);
  });

  test('keeps alpha', async () => {
    const pixels = await image(
      await plain(2, 2, { ...red, alpha: 0 }, 4)
        .png()
        .toBuffer(),
    );
    expect(pixels.channels).toBe(4);
    expect(pixels.data[3]).toBe(0);
    expect(first(await opaque(pixels))).toEqual([255, 255, 255]);
  });

  test('applies the EXIF orientation', async () => {
    const lying = await plain(6, 4).withExif({}).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    const { width, height } = await image(lying);
    expect([width, height]).toEqual([4, 6]);
  });

  test('reads what writePng has written', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 24, maxLength: 24 }), async (data) => {
        const pixels = { data, width: 4, height: 2, channels: 3 };
        const again = await image(await writePng(pixels));
        expect([...again.data]).toEqual([...data]);
      }),
      { numRuns: 20 },
    );
  });

  test('writePng writes no text chunks', async () => {
    const png = Buffer.from(await writePng({ data: new Uint8Array(3), width: 1, height: 1, channels: 3 }));
    expect(png.includes('tEXt') || png.includes('iTXt') || png.includes('eXIf')).toBe(false);
  });
});

describe('readImage: invalid input', () => {
  const expected = 'must be a picture as PNG, JPEG, WebP, GIF, AVIF or TIFF that can be read.';

  test('is rejected by field name', async () => {
    expect(await refusal(image(Buffer.from('no picture'), 'init_images'))).toBe(`400 init_images ${expected}`);
    expect(await refusal(image(new Uint8Array(), 'mask'))).toBe(`400 mask ${expected}`);
  });

  test('truncated file', async () => {
    const noisy = sharp(Buffer.from(Array.from({ length: 64 * 64 * 3 }, (_, index) => (index * 7919) % 251)), {
      raw: { width: 64, height: 64, channels: 3 },
    });
    const png = await noisy.png().toBuffer();
    expect(await refusal(image(png.subarray(0, png.length / 2)))).toBe(`400 image ${expected}`);
    const jpeg = await noisy.jpeg().toBuffer();
    expect(await refusal(image(jpeg.subarray(0, 40)))).toBe(`400 image ${expected}`);
  });

  test('SVG or document', async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
    expect(await refusal(image(Buffer.from(svg)))).toBe(`400 image ${expected}`);
    expect(await refusal(image(Buffer.from('%PDF-1.4 …')))).toBe(`400 image ${expected}`);
  });

  test('decompression bomb', async () => {
    // Nothing but its head says so: 30000 × 30000 pixels.
    const bomb = await plain(1, 1).png().toBuffer();
    bomb.writeUInt32BE(30_000, 16);
    bomb.writeUInt32BE(30_000, 20);
    bomb.writeUInt32BE(crc(bomb.subarray(12, 29)), 29);
    expect(await refusal(image(bomb))).toBe('400 image must be a picture of at most 64 million pixels.');
  });

  test('arbitrary bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        expect(await refusal(image(bytes))).toBe(`400 image ${expected}`);
      }),
      { numRuns: 40 },
    );
  });
});

describe('readMask', () => {
  test('has one channel for any input', async () => {
    const white = { r: 255, g: 255, b: 255 };
    const colours = await readMask({ bytes: await plain(3, 2, white).png().toBuffer(), field: 'mask' });
    expect([colours.channels, ...colours.data]).toEqual([1, 255, 255, 255, 255, 255, 255]);
    const grey = await readMask({ bytes: await plain(1, 1, white).greyscale().png().toBuffer(), field: 'mask' });
    expect([grey.channels, ...grey.data]).toEqual([1, 255]);
  });

  test('transparent pixels are black', async () => {
    const clear = await plain(1, 1, { r: 255, g: 255, b: 255, alpha: 0 }, 4).png().toBuffer();
    expect([...(await readMask({ bytes: clear, field: 'mask' })).data]).toEqual([0]);
  });

  test('blurred softens edges and nothing else', async () => {
    const data = Uint8Array.from({ length: 40 }, (_, index) => (index < 20 ? 0 : 255));
    const soft = await blurred({ data, width: 40, height: 1, channels: 1 }, 2);
    expect(soft.channels).toBe(1);
    expect([soft.data[0], soft.data[39]]).toEqual([0, 255]);
    const white = { data: new Uint8Array(64).fill(255), width: 8, height: 8, channels: 1 };
    expect(new Set((await blurred(white, 1.6)).data)).toEqual(new Set([255]));
    expect(soft.data[19]).toBeGreaterThan(60);
    expect(soft.data[20]).toBeLessThan(195);
  });
});

describe('resized', () => {
  const pixels: Pixels = { data: Uint8Array.of(255, 0, 0, 0, 0, 255), width: 2, height: 1, channels: 3 };

  test('has exactly the requested size and the same channels', async () => {
    for (const channels of [1, 3, 4]) {
      const data = new Uint8Array(6 * channels).fill(100);
      const larger = await resized({ data, width: 3, height: 2, channels }, { width: 7, height: 5 });
      expect([larger.width, larger.height, larger.channels, larger.data.length]).toEqual([
        7,
        5,
        channels,
        35 * channels,
      ]);
      expect(larger.data.every((value) => Math.abs(value - 100) <= 1)).toBe(true);
    }
  });

  test('nearest adds no colours', async () => {
    const { data } = await resized(pixels, { width: 4, height: 1 }, 'nearest');
    expect([...data]).toEqual([255, 0, 0, 255, 0, 0, 0, 0, 255, 0, 0, 255]);
  });

  test('the same size changes nothing', async () => {
    expect(await resized(pixels, { width: 2, height: 1 })).toBe(pixels);
  });

  test('extended fits the whole picture and repeats its edges', async () => {
    const square = { data: new Uint8Array(4 * 4 * 3).fill(9), width: 4, height: 4, channels: 3 };
    square.data.fill(200, 0, 4 * 3);
    const tall = await extended(square, { width: 4, height: 8 });
    expect([tall.width, tall.height]).toEqual([4, 8]);
    const rows = Array.from({ length: 8 }, (_, row) => tall.data[row * 4 * 3]);
    expect(rows).toEqual([200, 200, 200, 9, 9, 9, 9, 9]);
    const wide = await extended(square, { width: 9, height: 4 });
    expect([wide.width, wide.height, new Set(wide.data.subarray(0, 27))]).toEqual([9, 4, new Set([200])]);
  });

  test('extended supports extreme aspect ratios', async () => {
    const sliver = await extended(pixels, { width: 300, height: 1 });
    expect([sliver.width, sliver.height]).toEqual([300, 1]);
  });
});

/** That of PNG files. */
function crc(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  }
  return (value ^ 0xffffffff) >>> 0;
}

test('withAlpha: restores what withoutAlpha and alphaOf separate, to the last bit', async () => {
  const data = Uint8Array.from({ length: 7 * 5 * 4 }, (_, index) => (index * 7919) % 256);
  const pixels: Pixels = { data, width: 7, height: 5, channels: 4 };
  const [colours, alpha] = [await withoutAlpha(pixels), await alphaOf(pixels)];
  expect([...colours.data.subarray(0, 4)]).toEqual([data[0], data[1], data[2], data[4]]);
  expect([...alpha.data.subarray(0, 2)]).toEqual([data[3], data[7]]);
  const restored = await withAlpha(colours, alpha);
  expect(restored.channels).toBe(4);
  expect([...restored.data]).toEqual([...data]);
});

const anyPicture = (channels: number): fc.Arbitrary<Pixels> =>
  fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })).chain(([width, height]) => {
    const length = width * height * channels;
    return fc.uint8Array({ minLength: length, maxLength: length }).map((data) => ({ data, width, height, channels }));
  });

describe('planes', () => {
  test('toPlanes: one plane per colour, scaled to the range', () => {
    const pixels = { data: Uint8Array.of(0, 51, 102, 255, 204, 153), width: 2, height: 1, channels: 3 };
    const planes = [...toPlanes(pixels, 0, 1)].map((value) => Number(value.toFixed(1)));
    expect(planes).toEqual([0, 1, 0.2, 0.8, 0.4, 0.6]);
    expect([...toPlanes(pixels, -1, 1)].slice(0, 2)).toEqual([-1, 1]);
  });

  test('fromPlanes: restores the pixels', () => {
    fc.assert(
      fc.property(anyPicture(3), fc.constantFrom([0, 1] as const, [-1, 1] as const), (pixels, [from, to]) => {
        expect(fromPlanes(toPlanes(pixels, from, to), pixels, from, to)).toEqual(pixels);
      }),
    );
  });

  test('toPlanes: ignores alpha', () => {
    const rgba = { data: Uint8Array.of(0, 51, 102, 7, 255, 204, 153, 9), width: 2, height: 1, channels: 4 };
    const rgb = { data: Uint8Array.of(0, 51, 102, 255, 204, 153), width: 2, height: 1, channels: 3 };
    expect(toPlanes(rgba, 0, 1)).toEqual(toPlanes(rgb, 0, 1));
  });

  test('fromPlanes: clamps values out of range', () => {
    const { data } = fromPlanes(Float32Array.of(-3, 0, 3), { width: 1, height: 1 }, -1, 1);
    expect([...data]).toEqual([0, 128, 255]);
  });
});

describe('blended', () => {
  const sized = { width: 3, height: 1 };
  const over = { ...sized, data: Uint8Array.of(200, 200, 200, 200, 200, 200, 200, 200, 200), channels: 3 };
  const under = { ...sized, data: Uint8Array.of(10, 20, 30, 40, 50, 60, 70, 80, 90), channels: 3 };
  const mask = (...data: number[]) => ({ ...sized, data: Uint8Array.from(data), channels: 1 });

  test('takes the upper picture where the mask is white, the lower one where it is black', () => {
    expect([...blended(over, under, mask(255, 0, 255)).data]).toEqual([200, 200, 200, 40, 50, 60, 200, 200, 200]);
  });

  test('mixes both where the mask is grey', () => {
    const [red = 0] = blended(over, under, mask(127, 0, 0)).data;
    expect(red).toBeGreaterThan(100);
    expect(red).toBeLessThan(110);
  });

  test('a black mask keeps the lower picture bit for bit', () => {
    fc.assert(
      fc.property(anyPicture(3), (pixels) => {
        const black = { ...pixels, channels: 1, data: new Uint8Array(pixels.width * pixels.height) };
        const white = { ...pixels, data: new Uint8Array(pixels.data.length).fill(255) };
        expect(blended(white, pixels, black).data).toEqual(pixels.data);
      }),
    );
  });
});
