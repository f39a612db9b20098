import { describe, expect, test } from 'vitest';
import { callOf } from '../testing/doubles.ts';
import { formOf } from '../testing/forms.ts';
import { base64Of, pngOf } from '../testing/pictures.ts';
import { formPictures, pictureOf, readOptionalPicture, readPicture } from './sent-picture.ts';

const png = pngOf(5, 7);

describe('readPicture', () => {
  test('reads base64, bare or in a data URL', () => {
    const facts = { width: 5, height: 7, format: 'png', field: 'image' };
    expect(readPicture(base64Of(png), 'image')).toMatchObject(facts);
    expect(readPicture(`data:image/png;base64,${base64Of(png)}`, 'image')).toMatchObject(facts);
    expect(Buffer.from(readPicture(base64Of(png), 'image').bytes)).toEqual(png);
  });

  test.each([
    ['an address', 'https://example.com/a.png', 'in base64'],
    ['no base64', 'äöü', 'in base64'],
    ['something that is no picture', Buffer.from('hello there').toString('base64'), 'whole PNG'],
    ['one that is cut off', base64Of(png.subarray(0, png.length - 9)), 'whole PNG'],
    ['a number', 5, 'a string'],
    ['a sound', `data:audio/wav;base64,${base64Of(png)}`, 'is none'],
  ])('is refused by its field if it is %s', (_, value, reason) => {
    expect(() => readPicture(value, 'init_images[0]')).toThrow(`init_images[0] must be`);
    expect(() => readPicture(value, 'init_images[0]')).toThrow(reason);
  });

  test('readOptionalPicture: accepts an empty string', () => {
    expect(readOptionalPicture('', 'mask')).toBeUndefined();
    expect(readOptionalPicture(null, 'mask')).toBeUndefined();
    expect(readOptionalPicture(undefined, 'mask')).toBeUndefined();
    expect(readOptionalPicture(base64Of(png), 'mask')).toMatchObject({ width: 5 });
  });

  test('refuses too many pixels', () => {
    const huge = Buffer.from(png);
    huge.writeUInt32BE(60_000, 16);
    huge.writeUInt32BE(60_000, 20);
    expect(() => pictureOf(huge, 'image')).toThrow('image must be a picture of at most 67108864 pixels');
  });
});

describe('formPictures', () => {
  test('reads the files of a field, with brackets or without, in order', async () => {
    const files = [
      { field: 'image[]', bytes: pngOf(4, 4) },
      { field: 'mask', bytes: pngOf(5, 5) },
      { field: 'image[1]', bytes: pngOf(6, 6) },
    ];
    const call = callOf('/', '', await formOf({ prompt: 'a' }, files));
    expect((await formPictures(call, 'image')).map(({ width, field }) => [width, field])).toEqual([
      [4, 'image[0]'],
      [6, 'image[1]'],
    ]);
    expect((await formPictures(call, 'mask')).map(({ field }) => field)).toEqual(['mask']);
  });

  test('is empty without a form', async () => {
    const call = callOf('/', { prompt: 'a' });
    expect(await formPictures(call, 'image')).toEqual([]);
  });
});
