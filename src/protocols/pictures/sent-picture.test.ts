import { describe, expect, test } from 'vitest';
import { base64Of, pngOf } from '../testing/pictures.ts';
import { pictureOf, readOptionalPicture, readPicture } from './sent-picture.ts';

const png = pngOf(5, 7);

describe('a picture that a client sends', () => {
  test('is base64, bare or in a data URL', () => {
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
  ])('is refused by its place where it is %s', (_, value, reason) => {
    expect(() => readPicture(value, 'init_images[0]')).toThrow(`init_images[0] must be`);
    expect(() => readPicture(value, 'init_images[0]')).toThrow(reason);
  });

  test('may be an empty text where none is needed', () => {
    expect(readOptionalPicture('', 'mask')).toBeUndefined();
    expect(readOptionalPicture(null, 'mask')).toBeUndefined();
    expect(readOptionalPicture(undefined, 'mask')).toBeUndefined();
    expect(readOptionalPicture(base64Of(png), 'mask')).toMatchObject({ width: 5 });
  });

  test('may not have so many pixels that the memory would be full of them', () => {
    const huge = Buffer.from(png);
    huge.writeUInt32BE(60_000, 16);
    huge.writeUInt32BE(60_000, 20);
    expect(() => pictureOf(huge, 'image')).toThrow('image must be a picture of at most 67108864 pixels');
  });
});
