import { describe, expect, test } from 'vitest';
import { pictureFacts } from '../pictures/picture-facts.ts';
import { pixelAt, pngOf } from '../testing/pictures.ts';
import { stockBody } from './testing/graphs.ts';
import { sendPicture } from './testing/sent.ts';
import { comfyWorld } from './testing/world.ts';

describe('pictures that are sent', () => {
  test('keep their names unless another has them', async () => {
    const world = comfyWorld();
    const [one, two] = [pngOf(4, 4), pngOf(5, 5)];
    expect((await sendPicture(world, {}, one)).json.name).toBe('photo.png');
    expect((await sendPicture(world, {}, one)).json.name).toBe('photo.png');
    expect((await sendPicture(world, {}, two)).json.name).toBe('photo (1).png');
    expect((await sendPicture(world, { overwrite: '1' }, two)).json.name).toBe('photo.png');
    expect(pictureFacts((await world.get('/view?filename=photo.png&type=input')).bytes)?.width).toBe(5);
    expect((await world.get('/object_info/LoadImage')).json.LoadImage.input.required.image[0]).toEqual([
      'photo (1).png',
      'photo.png',
    ]);
  });

  test('become transparent by a mask', async () => {
    const world = comfyWorld();
    await sendPicture(world, {}, pngOf(8, 8));
    const original = JSON.stringify({ filename: 'photo.png', type: 'input' });
    await sendPicture(world, { original_ref: original }, pngOf(8, 8, [0, 0, 0, 77]), 'masked.png', '/upload/mask');
    expect(await pixelAt((await world.get('/view?filename=masked.png&type=input')).bytes, 3, 3)).toEqual([
      200, 30, 30, 77,
    ]);
    expect(
      (await sendPicture(world, { original_ref: '{"filename":"nobody.png"}' }, pngOf(8, 8), 'm.png', '/upload/mask'))
        .status,
    ).toBe(400);
    expect((await sendPicture(world, { original_ref: 'nonsense' }, pngOf(8, 8), 'm.png', '/upload/mask')).status).toBe(
      400,
    );
  });

  test.each([
    ['no picture', {}, Buffer.from('hello'), 'photo.png'],
    ['no name', {}, pngOf(4, 4), ''],
    ['a name that leads elsewhere', {}, pngOf(4, 4), '..'],
    ['a folder that leads elsewhere', { subfolder: '../../etc' }, pngOf(4, 4), 'photo.png'],
    ['a folder at the root', { subfolder: '/etc' }, pngOf(4, 4), 'photo.png'],
  ])('are refused with %s', async (_, fields, bytes, name) => {
    const world = comfyWorld();
    const { status, json } = await sendPicture(world, fields, bytes, name);
    expect([status, json.error.type]).toEqual([400, 'invalid_prompt']);
    expect(world.prompts.files.sent()).toEqual([]);
  });

  test('are refused without a form', async () => {
    expect((await comfyWorld().post('/upload/image', {})).status).toBe(400);
  });
});

describe('GET /view', () => {
  test.each([
    ['?type=output', 404],
    ['?filename=nobody.png', 404],
    ['?filename=nobody.png&type=secret', 400],
    ['?filename=../../etc/passwd', 400],
    ['?filename=/etc/passwd', 400],
    ['?filename=a.png&subfolder=../..', 400],
    ['?filename=%2e%2e%2fa', 400],
    ['?filename=a%00.png', 400],
  ])('%s is answered with %i, as JSON', async (query, status) => {
    const reply = await comfyWorld().get(`/view${query}`);
    expect(reply.status).toBe(status);
    expect(reply.json.error.message).toEqual(expect.any(String));
  });

  test('comfy: GET /view without a file name names the missing parameter', async () => {
    const { json } = await comfyWorld().get('/view');
    expect(json.error).toMatchObject({
      type: 'not_found',
      message: expect.stringMatching(/parameter filename is missing/),
    });
  });

  test('makes a smaller one where it is asked to', async () => {
    const world = comfyWorld();
    await world.post('/prompt', stockBody());
    await world.drawAll();
    const { headers, bytes } = await world.get('/api/view?filename=demo_00001_.png&preview=webp;50');
    expect(headers).toMatchObject({
      'content-type': 'image/webp',
      'content-disposition': 'filename="demo_00001_.png"',
    });
    expect(pictureFacts(bytes)).toMatchObject({ format: 'webp', width: 128 });
  });

  describe('of a transparent picture', () => {
    const colour = [40, 80, 120, 77];
    async function seen(query: string) {
      const world = comfyWorld();
      await sendPicture(world, {}, pngOf(6, 4, colour));
      const reply = await world.get(`/view?filename=photo.png&type=input${query}`);
      return { ...reply, type: reply.headers['content-type'] };
    }

    test.each([
      ['', colour],
      ['&channel=rgba', colour],
      ['&channel=rgb', [40, 80, 120]],
      ['&channel=a', [0, 0, 0, 77]],
    ])('%s shows the channels that are asked for', async (query, pixel) => {
      const { bytes, type } = await seen(query);
      expect(type).toBe('image/png');
      expect(pictureFacts(bytes)).toMatchObject({ width: 6, height: 4 });
      expect(await pixelAt(bytes, 2, 2)).toEqual(pixel);
    });

    test('a channel that nobody knows is refused', async () => {
      const { status, json } = await seen('&channel=cmyk');
      expect([status, json.error.message]).toEqual([400, expect.stringContaining('rgba, rgb or a')]);
    });

    test.each([
      ['&preview=webp;90', 'image/webp', 4],
      ['&preview=jpeg;80', 'image/jpeg', 3],
      ['&preview=jpeg', 'image/jpeg', 3],
      ['&preview=', 'image/webp', 4],
      ['&preview=bmp;5', 'image/webp', 4],
      ['&preview=webp;99999', 'image/webp', 4],
      ['&preview=webp&channel=rgb', 'image/webp', 3],
      ['&preview=jpeg&channel=rgba', 'image/webp', 4],
    ])('%s is packed as %s', async (query, type, channels) => {
      const reply = await seen(query);
      expect(reply.type).toBe(type);
      expect(`image/${pictureFacts(reply.bytes)?.format}`).toBe(type);
      expect(await pixelAt(reply.bytes, 1, 1)).toHaveLength(channels);
    });

    test('less quality makes it smaller', async () => {
      const noise = pngOf(64, 64, [1, 2, 3]);
      const world = comfyWorld();
      await sendPicture(world, {}, noise);
      const size = async (quality: number) =>
        (await world.get(`/view?filename=photo.png&type=input&preview=jpeg;${quality}`)).bytes.length;
      expect(await size(5)).toBeLessThan(await size(100));
    });
  });
});
