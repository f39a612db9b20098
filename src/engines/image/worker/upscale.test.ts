import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import type { AppError } from '../../../core/errors.ts';
import type { UpscaleRequest } from '../../../core/image.ts';
import { readImage } from '../codec.ts';
import { sketchFacts } from '../facts.ts';
import { type NetworkOf, UpscalingNetworks, upscaledImage } from './upscale.ts';

const never = new AbortController().signal;
const networks = new UpscalingNetworks(1);
const real = networks.watchedBy((work) => work());
const none: NetworkOf = () => Promise.reject(new Error('no network is needed here'));

/** Fields of eight pixels, black and white. */
async function checker(side: number, channels: 3 | 4 = 3): Promise<Buffer> {
  const data = Buffer.alloc(side * side * channels);
  for (let pixel = 0; pixel < side * side; pixel += 1) {
    const [x, y] = [pixel % side, Math.floor(pixel / side)];
    data.fill((x >> 3) % 2 === (y >> 3) % 2 ? 255 : 0, pixel * channels, pixel * channels + 3);
    if (channels === 4) data[pixel * 4 + 3] = x < side / 2 ? 255 : 0;
  }
  return sharp(data, { raw: { width: side, height: side, channels } })
    .png()
    .toBuffer();
}

async function upscaled(changes: Partial<UpscaleRequest>, networkOf: NetworkOf = real) {
  const request = { image: await checker(32), upscaler: 'None', width: 64, height: 64, ...changes };
  return readImage({ bytes: await upscaledImage(request, networkOf, never), field: 'test' });
}

/** How far the middles of the fields are from what they should be, at most. */
function offBy({ data, width, channels }: Awaited<ReturnType<typeof upscaled>>, scale: number): number {
  let most = 0;
  for (let y = 4 * scale; y < width; y += 8 * scale) {
    for (let x = 4 * scale; x < width; x += 8 * scale) {
      const wanted = Math.floor(x / (8 * scale)) % 2 === Math.floor(y / (8 * scale)) % 2 ? 255 : 0;
      most = Math.max(most, Math.abs((data[(y * width + x) * channels] as number) - wanted));
    }
  }
  return most;
}

describe('upscaledPicture: checker pattern', () => {
  test.each([2, 3, 4, 8])('ESRGAN-slim %ix enlarges it, with its fields in place', async (scale) => {
    const pixels = await upscaled({ upscaler: `ESRGAN-slim ${scale}x`, width: 32 * scale, height: 32 * scale });
    expect([pixels.width, pixels.height]).toEqual([32 * scale, 32 * scale]);
    expect(offBy(pixels, scale)).toBeLessThan(40);
  });

  test('has the same edges computed as a whole and in tiles', async () => {
    const whole = await upscaled({ image: await checker(64), upscaler: 'ESRGAN-slim 2x', width: 128, height: 128 });
    const tiled = await upscaled({ image: await checker(192), upscaler: 'ESRGAN-slim 2x', width: 384, height: 384 });
    expect(offBy(tiled, 2)).toBeLessThan(40);
    // Around the seam at 256 it looks as in the middle of a tile.
    const row = (pixels: typeof whole, start: number) =>
      Array.from({ length: 32 }, (_, x) => pixels.data[(72 * pixels.width + start + x) * 3] as number);
    const [seam, middle] = [row(tiled, 240), row(whole, 48)];
    expect(Math.max(...seam.map((value, index) => Math.abs(value - (middle[index] as number))))).toBeLessThan(24);
  });

  test('Nearest keeps sharp edges', async () => {
    const { data } = await upscaled({ upscaler: 'Nearest', width: 128, height: 128 }, none);
    expect(new Set(data)).toEqual(new Set([0, 255]));
  });

  test('has exactly the requested size for any scale of the network', async () => {
    const pixels = await upscaled({ upscaler: 'esrgan-slim 4x', width: 70, height: 33 });
    expect([pixels.width, pixels.height]).toEqual([70, 33]);
  });

  test('keeps alpha', async () => {
    const image = await checker(32, 4);
    for (const upscaler of ['ESRGAN-slim 2x', 'Lanczos', 'Nearest']) {
      const { data, channels } = await upscaled({ image, upscaler });
      expect(channels).toBe(4);
      expect([data[3], data[63 * 4 + 3]]).toEqual([255, 0]);
    }
  });
});

describe('upscaledPicture: without a network', () => {
  test('None, Lanczos and smaller sizes load no network', async () => {
    for (const upscaler of ['None', '', 'Lanczos']) {
      expect((await upscaled({ upscaler }, none)).width).toBe(64);
    }
    const unused: NetworkOf = async (scale) => ({ scale, run: () => Promise.reject(new Error('not needed')) });
    const smaller = await upscaled({ upscaler: 'ESRGAN-slim 4x', width: 16, height: 16 }, unused);
    expect([smaller.width, smaller.height]).toEqual([16, 16]);
  });
});

describe('upscaledPicture: invalid requests are rejected by field name', () => {
  const refusal = (changes: Partial<UpscaleRequest>) =>
    upscaled(changes, none).then(
      () => 'taken',
      (error: AppError) => `${error.status} ${error.message}`,
    );

  test('size out of range', async () => {
    expect(await refusal({ width: 5000 })).toBe('400 width must be a whole number from 1 to 4096.');
    expect(await refusal({ height: 0 })).toBe('400 height must be a whole number from 1 to 4096.');
    expect(await refusal({ height: 1.5 })).toMatch(/^400 height/);
  });

  test('unknown upscaler', async () => {
    expect(await refusal({ upscaler: 'SwinIR' })).toBe(
      '400 upscaler must be one of None, Nearest, Lanczos, ESRGAN-slim 2x, ESRGAN-slim 3x, ESRGAN-slim 4x, ESRGAN-slim 8x.',
    );
  });

  test('no picture', async () => {
    expect(await refusal({ image: Buffer.from('GIF89a') })).toMatch(/^400 image must be a picture/);
  });
});

test('upscaledPicture: supports every listed upscaler', async () => {
  for (const { name, scale } of sketchFacts('/m').upscalers) {
    const side = 8 * scale;
    const pixels = await upscaled({ image: await checker(8), upscaler: name, width: side, height: side });
    expect(pixels.width).toBe(side);
  }
  await networks.close();
});

test('upscaledPicture: an abort ends the network run', async () => {
  const stop = new AbortController();
  const networkOf: NetworkOf = async (scale) => ({
    scale,
    run: async () => {
      stop.abort(new Error('gone'));
      stop.signal.throwIfAborted();
      return new Float32Array();
    },
  });
  const request = { image: await checker(32), upscaler: 'ESRGAN-slim 2x', width: 64, height: 64 };
  await expect(upscaledImage(request, networkOf, stop.signal)).rejects.toThrow('gone');
});
