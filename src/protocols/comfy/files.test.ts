import { webcrypto } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { noKey } from '../../core/owner.ts';
import { anyCharacter } from '../../core/testing/any-character.ts';
import { imageHeader } from '../images/image-header.ts';
import { pixelAt, pngOf } from '../testing/pictures.ts';
import { annotatedName, ComfyFiles, isPlainFolder, isPlainName, outputName } from './files.ts';
import { stockBody } from './testing/graphs.ts';
import { sendImage } from './testing/sent.ts';
import { comfyWorld } from './testing/world.ts';

const file = (length: number) => ({ bytes: new Uint8Array(length), contentType: 'image/png' });
const at = (name: string) => ({ type: 'input', subfolder: '', name }) as const;

describe('ComfyFiles', () => {
  test('stores pictures by type, folder and name', () => {
    const files = new ComfyFiles().of(noKey);
    files.put(at('a.png'), file(1));
    files.put({ type: 'output', subfolder: 'x/y', name: 'a.png' }, file(2));
    expect(files.get(at('a.png'))?.bytes).toHaveLength(1);
    expect(files.get({ type: 'output', subfolder: 'x/y', name: 'a.png' })?.bytes).toHaveLength(2);
    expect(files.get({ type: 'temp', subfolder: '', name: 'a.png' })).toBeUndefined();
    files.put({ type: 'input', subfolder: 'f', name: 'b.png' }, file(1));
    expect(files.sent()).toEqual(['a.png', 'f/b.png']);
  });

  test('drops the oldest files beyond the limit', () => {
    const files = new ComfyFiles({ bytes: 100, entries: 2 }).of(noKey);
    for (const name of ['a', 'b', 'c']) files.put(at(name), file(1));
    expect(files.sent()).toEqual(['b', 'c']);
  });

  test('stays within its limits and always has the newest file', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: 1, max: 60 })), { minLength: 1 }),
        (puts) => {
          const files = new ComfyFiles({ bytes: 100, entries: 3 }).of(noKey);
          for (const [name, length] of puts) {
            files.put(at(name), file(length));
            const lengths = files.sent().map((each) => files.get(at(each))?.bytes.length ?? 0);
            expect(lengths.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(100);
            expect(lengths.length).toBeLessThanOrEqual(3);
            expect(files.get(at(name))?.bytes).toHaveLength(length);
          }
        },
      ),
    );
  });
});

describe('annotatedName', () => {
  test.each([
    ['a.png', { type: 'input', subfolder: '', name: 'a.png' }],
    ['f/a b.png [output]', { type: 'output', subfolder: 'f', name: 'a b.png' }],
    ['a.png [temp]', { type: 'temp', subfolder: '', name: 'a.png' }],
    ['a [x].png', { type: 'input', subfolder: '', name: 'a [x].png' }],
  ])('reads %j', (text, place) => expect(annotatedName(text, 'input')).toEqual(place));

  test.each([
    '',
    '/etc/passwd',
    '../a.png',
    'f/../../a.png',
    '..',
    '.',
    'f//a.png',
    'a\\b.png',
    'a\0.png',
    'a\n.png',
    'x'.repeat(256),
    'f/',
  ])('refuses %j', (text) => {
    expect(annotatedName(text, 'input')).toBeUndefined();
  });

  test('accepts only names without separators, control characters and dot folders', () => {
    expect(isPlainName('ph oto (1).png')).toBe(true);
    expect(isPlainFolder('a/b')).toBe(true);
    expect(['..', 'a/..', '/a', 'a/', 'a//b', '.'].map(isPlainFolder)).toEqual([
      false,
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('outputName', () => {
  const now = new Date(Date.UTC(2026, 0, 15, 9, 30, 5));

  test.each([
    ['demo', { subfolder: '', name: 'demo_00007_.png' }],
    ['a/b/c d', { subfolder: 'a/b', name: 'c_d_00007_.png' }],
    ['../../etc/x', { subfolder: 'etc', name: 'x_00007_.png' }],
    ['', { subfolder: '', name: 'ComfyUI_00007_.png' }],
    ['%date:yyyy-MM-dd%_x', { subfolder: '', name: '2026-01-15_x_00007_.png' }],
    ['%KSampler.seed%', { subfolder: '', name: '_KSampler.seed__00007_.png' }],
  ])('%j', (prefix, name) => expect(outputName(prefix, 7, now)).toEqual(name));

  test('gives safe names for any prefix', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (prefix) => {
        const { subfolder, name } = outputName(prefix, 1, now);
        expect(name).toMatch(/^[A-Za-z0-9._-]+_00001_\.png$/);
        expect(isPlainName(name) && isPlainFolder(subfolder)).toBe(true);
        expect(encodeURI(`${subfolder}/${name}`)).toBe(`${subfolder}/${name}`);
      }),
    );
  });
});

describe('POST /upload/image', () => {
  test('numbers a name that is taken by another picture', async () => {
    const world = comfyWorld();
    const [one, two] = [pngOf(4, 4), pngOf(5, 5)];
    expect((await sendImage(world, {}, one)).json.name).toBe('photo.png');
    expect((await sendImage(world, {}, one)).json.name).toBe('photo.png');
    expect((await sendImage(world, {}, two)).json.name).toBe('photo (1).png');
    expect((await sendImage(world, { overwrite: '1' }, two)).json.name).toBe('photo.png');
    expect(imageHeader((await world.get('/view?filename=photo.png&type=input')).bytes)?.width).toBe(5);
    expect((await world.get('/object_info/LoadImage')).json.LoadImage.input.required.image[0]).toEqual([
      'photo (1).png',
      'photo.png',
    ]);
  });

  test('upload/mask: makes the original transparent', async () => {
    const world = comfyWorld();
    await sendImage(world, {}, pngOf(8, 8));
    const original = JSON.stringify({ filename: 'photo.png', type: 'input' });
    await sendImage(world, { original_ref: original }, pngOf(8, 8, [0, 0, 0, 77]), 'masked.png', '/upload/mask');
    expect(await pixelAt((await world.get('/view?filename=masked.png&type=input')).bytes, 3, 3)).toEqual([
      200, 30, 30, 77,
    ]);
    expect(
      (await sendImage(world, { original_ref: '{"filename":"nobody.png"}' }, pngOf(8, 8), 'm.png', '/upload/mask'))
        .status,
    ).toBe(400);
    expect((await sendImage(world, { original_ref: 'nonsense' }, pngOf(8, 8), 'm.png', '/upload/mask')).status).toBe(
      400,
    );
  });

  test.each([
    ['no picture', {}, Buffer.from('hello'), 'photo.png'],
    ['no name', {}, pngOf(4, 4), ''],
    ['a name outside of the store', {}, pngOf(4, 4), '..'],
    ['a folder outside of the store', { subfolder: '../../etc' }, pngOf(4, 4), 'photo.png'],
    ['a folder at the root', { subfolder: '/etc' }, pngOf(4, 4), 'photo.png'],
  ])('refuses %s', async (_, fields, bytes, name) => {
    const world = comfyWorld();
    const { status, json } = await sendImage(world, fields, bytes, name);
    expect([status, json.error.type]).toEqual([400, 'invalid_prompt']);
    expect(world.prompts.files.of(noKey).sent()).toEqual([]);
  });

  test('hashes each picture once, however many of its name are stored', async () => {
    const world = comfyWorld();
    const hash = vi.spyOn(webcrypto.subtle, 'digest');
    onTestFinished(() => hash.mockRestore());
    const names: string[] = [];
    for (const red of [1, 2, 3, 4, 2]) {
      names.push((await sendImage(world, {}, pngOf(4, 4, [red, 0, 0, 255]))).json.name);
    }
    expect(names).toEqual(['photo.png', 'photo (1).png', 'photo (2).png', 'photo (3).png', 'photo (1).png']);
    expect(hash).toHaveBeenCalledTimes(5);
  });

  test('two pictures of the same name at once: both are stored', async () => {
    const world = comfyWorld();
    const sent = [1, 2].map((red) => sendImage(world, {}, pngOf(4, 4, [red, 0, 0, 255])));
    const names = (await Promise.all(sent)).map(({ json }) => json.name);
    expect(names.sort()).toEqual(['photo (1).png', 'photo.png']);
  });

  test('refuses a request without a form', async () => {
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

  test('encodes a smaller preview', async () => {
    const world = comfyWorld();
    await world.post('/prompt', stockBody());
    await world.drawAll();
    const { headers, bytes } = await world.get('/api/view?filename=demo_00001_.png&preview=webp;50');
    expect(headers).toMatchObject({
      'content-type': 'image/webp',
      'content-disposition': 'filename="demo_00001_.png"',
    });
    expect(imageHeader(bytes)).toMatchObject({ format: 'webp', width: 128 });
  });

  describe('channels of a transparent picture', () => {
    const colour = [40, 80, 120, 77];
    async function seen(query: string) {
      const world = comfyWorld();
      await sendImage(world, {}, pngOf(6, 4, colour));
      const reply = await world.get(`/view?filename=photo.png&type=input${query}`);
      return { ...reply, type: reply.headers['content-type'] };
    }

    test.each([
      ['', colour],
      ['&channel=rgba', colour],
      ['&channel=rgb', [40, 80, 120]],
      ['&channel=a', [0, 0, 0, 77]],
    ])('%s returns the requested channels', async (query, pixel) => {
      const { bytes, type } = await seen(query);
      expect(type).toBe('image/png');
      expect(imageHeader(bytes)).toMatchObject({ width: 6, height: 4 });
      expect(await pixelAt(bytes, 2, 2)).toEqual(pixel);
    });

    test('refuses an unknown channel', async () => {
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
    ])('%s is encoded as %s', async (query, type, channels) => {
      const reply = await seen(query);
      expect(reply.type).toBe(type);
      expect(`image/${imageHeader(reply.bytes)?.format}`).toBe(type);
      expect(await pixelAt(reply.bytes, 1, 1)).toHaveLength(channels);
    });

    test('preview: a lower quality gives fewer bytes', async () => {
      const noise = pngOf(64, 64, [1, 2, 3]);
      const world = comfyWorld();
      await sendImage(world, {}, noise);
      const size = async (quality: number) =>
        (await world.get(`/view?filename=photo.png&type=input&preview=jpeg;${quality}`)).bytes.length;
      expect(await size(5)).toBeLessThan(await size(100));
    });
  });
});
