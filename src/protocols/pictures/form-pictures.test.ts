import { describe, expect, test } from 'vitest';
import { callOf } from '../testing/doubles.ts';
import { formOf } from '../testing/forms.ts';
import { pngOf } from '../testing/pictures.ts';
import { formPictures, pictureBody } from './sent-picture.ts';

describe('pictures of a form', () => {
  test('are those under the name, with brackets or without, in their order', async () => {
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
    expect(await pictureBody(call)).toEqual({ prompt: 'a' });
  });

  test('are none where there is no form', async () => {
    const call = callOf('/', { prompt: 'a' });
    expect(await formPictures(call, 'image')).toEqual([]);
    expect(await pictureBody(call)).toEqual({ prompt: 'a' });
    await expect(pictureBody(callOf('/', ''))).rejects.toMatchObject({ code: 'invalid-json' });
  });
});
