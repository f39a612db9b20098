import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import type { EditedImage, ImageEdit } from '../../core/image-editing.ts';
import { callOf } from '../testing/doubles.ts';
import { formOf } from '../testing/forms.ts';
import { base64Of, inProcessEditor as editor, pixelAt, pngChunk, pngOf } from '../testing/pictures.ts';
import { imageHeader } from './image-header.ts';
import {
  encodedAs,
  fitted,
  fittedMask,
  formImages,
  maskOfChannel,
  needed,
  readImage,
  readOptionalImage,
  sentImage,
} from './sent-image.ts';

const png = pngOf(5, 7);

describe('readImage', () => {
  test('reads base64, bare or in a data URL', () => {
    const facts = { width: 5, height: 7, format: 'png', field: 'image' };
    expect(readImage(base64Of(png), 'image')).toMatchObject(facts);
    expect(readImage(`data:image/png;base64,${base64Of(png)}`, 'image')).toMatchObject(facts);
    expect(Buffer.from(readImage(base64Of(png), 'image').bytes)).toEqual(png);
  });

  test.each([
    ['an address', 'https://example.com/a.png', 'in base64'],
    ['no base64', 'äöü', 'in base64'],
    ['something that is no picture', Buffer.from('hello there').toString('base64'), 'whole PNG'],
    ['one that is cut off', base64Of(png.subarray(0, png.length - 9)), 'whole PNG'],
    ['a number', 5, 'a string'],
    ['a sound', `data:audio/wav;base64,${base64Of(png)}`, 'is none'],
  ])('is refused by its field if it is %s', (_, value, reason) => {
    expect(() => readImage(value, 'init_images[0]')).toThrow(`init_images[0] must be`);
    expect(() => readImage(value, 'init_images[0]')).toThrow(reason);
  });

  test('readOptionalImage: accepts an empty string', () => {
    expect(readOptionalImage('', 'mask')).toBeUndefined();
    expect(readOptionalImage(null, 'mask')).toBeUndefined();
    expect(readOptionalImage(undefined, 'mask')).toBeUndefined();
    expect(readOptionalImage(base64Of(png), 'mask')).toMatchObject({ width: 5 });
  });

  test('refuses too many pixels', () => {
    const huge = Buffer.from(png);
    huge.writeUInt32BE(60_000, 16);
    huge.writeUInt32BE(60_000, 20);
    expect(() => sentImage(huge, 'image')).toThrow('image must be a picture of at most 67108864 pixels');
  });
});

describe('formImages', () => {
  test('reads the files of a field, with brackets or without, in order', async () => {
    const files = [
      { field: 'image[]', bytes: pngOf(4, 4) },
      { field: 'mask', bytes: pngOf(5, 5) },
      { field: 'image[1]', bytes: pngOf(6, 6) },
    ];
    const call = callOf('/', '', await formOf({ prompt: 'a' }, files));
    expect((await formImages(call, 'image')).map(({ width, field }) => [width, field])).toEqual([
      [4, 'image[0]'],
      [6, 'image[1]'],
    ]);
    expect((await formImages(call, 'mask')).map(({ field }) => field)).toEqual(['mask']);
  });

  test('is empty without a form', async () => {
    const call = callOf('/', { prompt: 'a' });
    expect(await formImages(call, 'image')).toEqual([]);
  });
});

const red = [255, 0, 0];
const sent = (bytes: Uint8Array) => sentImage(bytes, 'image');
const size = { width: 16, height: 16 };
const edited = async (edit: ImageEdit, picture: EditedImage) => needed(await editor.edit(edit, [picture]));

/** Left half of one colour and right half of another. */
async function halves(left: readonly number[], right: readonly number[]): Promise<Buffer> {
  const channels = left.length as 3 | 4;
  const raw = Buffer.concat(
    Array.from({ length: 32 }, () =>
      Buffer.concat([Buffer.alloc(32 * channels, Buffer.from(left)), Buffer.alloc(32 * channels, Buffer.from(right))]),
    ),
  );
  return sharp(raw, { raw: { width: 64, height: 32, channels } })
    .png()
    .toBuffer();
}

describe('fitted', () => {
  test('crops around the centre', async () => {
    const wide = await halves([255, 0, 0], [0, 0, 255]);
    const bytes = await fitted(editor, sent(wide), size, 'cover');
    expect(imageHeader(bytes)).toMatchObject(size);
    expect(await pixelAt(bytes, 1, 8)).toEqual([255, 0, 0]);
    expect(await pixelAt(bytes, 14, 8)).toEqual([0, 0, 255]);
  });

  test('contain: adds white borders', async () => {
    const bytes = await fitted(editor, sent(await halves(red, red)), size, 'contain');
    expect(await pixelAt(bytes, 8, 0)).toEqual([255, 255, 255]);
    expect(await pixelAt(bytes, 8, 8)).toEqual([255, 0, 0]);
  });

  test('is white where the picture was transparent', async () => {
    const bytes = await fitted(editor, sent(pngOf(8, 8, [0, 0, 0, 0])), size, 'fill');
    expect(await pixelAt(bytes, 3, 3)).toEqual([255, 255, 255]);
  });

  test('applies the EXIF orientation', async () => {
    const turned = await sharp(await halves([255, 0, 0], [0, 0, 255]))
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    const bytes = await fitted(editor, sent(turned), size, 'fill');
    const [top, bottom] = [await pixelAt(bytes, 8, 1), await pixelAt(bytes, 8, 14)];
    expect((top[0] ?? 0) > 200 && (bottom[2] ?? 0) > 200).toBe(true);
  });

  test('refuses a broken picture by its field', async () => {
    const broken = Buffer.concat([
      pngOf(8, 8).subarray(0, 33),
      pngChunk('IDAT', Buffer.from('nonsense')),
      pngChunk('IEND', Buffer.alloc(0)),
    ]);
    await expect(fitted(editor, sent(broken), size, 'cover')).rejects.toThrow(
      'image must be a picture that can be read',
    );
    await expect(fittedMask(editor, sent(broken), { size, fit: 'cover' })).rejects.toMatchObject({
      code: 'invalid-field',
    });
    await expect(maskOfChannel(editor, sent(broken), 'alpha', { size, fit: 'cover' })).rejects.toMatchObject({
      code: 'invalid-field',
    });
  });
});

describe('masks', () => {
  test('fittedMask: has one channel and the size of the request', async () => {
    const bytes = await fittedMask(editor, sent(await halves([0, 0, 0], [255, 255, 255])), { size, fit: 'fill' });
    expect(imageHeader(bytes)).toMatchObject(size);
    expect(await pixelAt(bytes, 2, 2)).toEqual([0]);
    expect(await pixelAt(bytes, 13, 2)).toEqual([255]);
  });

  test('fittedMask: is inverted on request', async () => {
    const bytes = await fittedMask(editor, sent(await halves([0, 0, 0], [255, 255, 255])), {
      size,
      fit: 'fill',
      inverted: true,
    });
    expect([await pixelAt(bytes, 2, 2), await pixelAt(bytes, 13, 2)]).toEqual([[255], [0]]);
  });

  test('maskOfChannel: is white where the picture is transparent', async () => {
    const bytes = await maskOfChannel(editor, sent(await halves([9, 9, 9, 255], [9, 9, 9, 0])), 'alpha', {
      size,
      fit: 'fill',
    });
    expect([await pixelAt(bytes as Uint8Array, 2, 2), await pixelAt(bytes as Uint8Array, 13, 2)]).toEqual([[0], [255]]);
  });

  test('maskOfChannel: is undefined for an opaque picture', async () => {
    expect(await maskOfChannel(editor, sent(pngOf(8, 8)), 'alpha', { size, fit: 'fill' })).toBeUndefined();
    expect(
      await maskOfChannel(editor, sent(pngOf(8, 8, [1, 2, 3, 255])), 'alpha', { size, fit: 'fill' }),
    ).toBeUndefined();
  });

  test('maskOfChannel: reads a colour channel', async () => {
    const bytes = await maskOfChannel(editor, sent(await halves([255, 0, 0], [0, 0, 255])), 'blue', {
      size,
      fit: 'fill',
    });
    expect([await pixelAt(bytes as Uint8Array, 2, 2), await pixelAt(bytes as Uint8Array, 13, 2)]).toEqual([[0], [255]]);
  });
});

describe('alpha channel', () => {
  test('alpha-of-second: replaces the alpha channel by that of a mask of any size', async () => {
    for (const picture of [pngOf(16, 16, [1, 2, 3]), pngOf(16, 16, [1, 2, 3, 200])]) {
      const bytes = needed(
        await editor.edit({ type: 'alpha-of-second' }, [sent(picture), sent(pngOf(4, 4, [9, 9, 9, 77]))]),
      );
      expect(imageHeader(bytes)).toMatchObject(size);
      expect(await pixelAt(bytes, 5, 5)).toEqual([1, 2, 3, 77]);
    }
  });

  test.each([
    ['colours', [9, 80, 200, 77], [9, 80, 200], [0, 0, 0, 77]],
    ['colours and nothing transparent', [9, 80, 200], [9, 80, 200], [0, 0, 0, 255]],
    ['grey', [90], [90, 90, 90], [0, 0, 0, 255]],
  ])('colours and transparency: separate the channels of a picture of %s', async (_, colour, without, alone) => {
    const picture = sentImage(pngOf(5, 3, colour), 'image');
    expect(await pixelAt(await edited({ type: 'colours' }, picture), 4, 2)).toEqual(without);
    const alpha = await edited({ type: 'transparency' }, picture);
    expect(sentImage(alpha, 'alpha')).toMatchObject({ width: 5, height: 3 });
    expect(await pixelAt(alpha, 4, 2)).toEqual(alone);
  });

  test('fittedMask: is white everywhere with all', async () => {
    expect(
      await pixelAt(await fittedMask(editor, sent(pngOf(4, 4, [0, 0, 0])), { size, fit: 'fill', all: true }), 5, 5),
    ).toEqual([255]);
  });
});

describe('encodedAs', () => {
  test('returns a PNG unchanged', async () => {
    const png = pngOf(8, 8);
    expect(await encodedAs(editor, png, 'png', 10)).toBe(png);
  });

  test.each(['jpeg', 'webp'] as const)('encodes as %s, smaller with less quality', async (format) => {
    const noise = await sharp({
      create: {
        width: 64,
        height: 64,
        channels: 3,
        background: 'red',
        noise: { type: 'gaussian', mean: 128, sigma: 60 },
      },
    })
      .png()
      .toBuffer();
    const [fine, coarse] = [await encodedAs(editor, noise, format, 100), await encodedAs(editor, noise, format, 0)];
    expect(imageHeader(fine)).toMatchObject({ width: 64, height: 64, format });
    expect(coarse.length).toBeLessThan(fine.length);
  });
});
