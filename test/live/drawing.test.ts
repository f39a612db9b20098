import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { afterAll, describe, expect, test } from 'vitest';
import { defaultSettings } from '../../src/config/flags.ts';
import type { EngineSource } from '../../src/core/engine-source.ts';
import type { AppError } from '../../src/core/errors.ts';
import type { ImageEngine, ImageEvent, ImageRequest } from '../../src/core/image.ts';
import { systemTimer } from '../../src/core/timers.ts';
import { EmbeddingHost } from '../../src/engines/embedding/host.ts';
import { spawnChild } from '../../src/engines/host/child.ts';
import { ImageHost } from '../../src/engines/image/host.ts';
import { imageRequest } from '../../src/engines/image/testing/request.ts';
import { embeddingOptions } from '../../src/models/embedding-models.ts';
import { encodedImageSource } from '../../src/models/image-model.ts';

const worker = (engine: string) =>
  fileURLToPath(new URL(`../../dist/engines/${engine}/worker/main.js`, import.meta.url));
const common = { spawn: spawnChild, startTimer: systemTimer };
const shape = { architecture: '', layers: 0, trainedContext: 0, sizeBytes: 0, cacheBytesPerToken: 0 };
const path = fileURLToPath(new URL('../../models/parley-sketch.onnx', import.meta.url));

// More threads than free cores would wait for each other most of the time.
const host = new ImageHost({ ...common, capability: 'image', entry: worker('image'), options: { path, threads: 1 } });
const encoder = new EmbeddingHost({
  ...common,
  capability: 'embedding',
  entry: worker('embedding'),
  options: embeddingOptions({ ...defaultSettings, threads: 1 }, { builtIn: true }, shape),
});
afterAll(async () => {
  await Promise.all([host.stop(), encoder.stop()]);
});

const there = <Engine>(engine: Engine): EngineSource<Engine> => ({
  name: '',
  use: async () => ({ engine, release: () => undefined }),
  peek: () => engine,
  state: () => ({ type: 'ready' }),
});
const engine = encodedImageSource(there(host), there(encoder)).peek() as ImageEngine;

/** Without guidance, which doubles the work, unless asked for. */
async function generate(changes: Partial<ImageRequest>, signal = new AbortController().signal) {
  const events: ImageEvent[] = [];
  const request = imageRequest({ steps: 6, ...changes });
  for await (const event of engine.generate(request, signal)) events.push(event);
  const pictures = events.flatMap((event) => (event.type === 'image' ? [Buffer.from(event.png)] : []));
  return { events, pictures, picture: pictures[0] ?? Buffer.of() };
}

async function pixels(png: Uint8Array): Promise<[number, number, number][]> {
  const data = await sharp(png).removeAlpha().raw().toBuffer();
  return Array.from({ length: data.length / 3 }, (_, index) => [
    data[index * 3] as number,
    data[index * 3 + 1] as number,
    data[index * 3 + 2] as number,
  ]);
}

const plain = (background: string, side = 64) =>
  sharp({ create: { width: side, height: side, channels: 3, background } }).png();

async function meanDifference(one: Uint8Array, other: Uint8Array): Promise<number> {
  const [a, b] = [(await pixels(one)).flat(), (await pixels(other)).flat()];
  return a.reduce((sum, value, index) => sum + Math.abs(value - (b[index] as number)), 0) / a.length;
}

const isWhite = ([r, g, b]: readonly [number, number, number]) => Math.min(r, g, b) > 220;
const isRed = ([r, g, b]: readonly [number, number, number]) => r > 150 && g < 110 && b < 110;

describe('built-in image model', () => {
  test('colours: a red apple is red, a blue one is not', async () => {
    const { events, picture } = await generate({ prompt: 'a red apple', guidance: 2.5 });
    expect(events.filter(({ type }) => type === 'progress').length).toBe(6);
    const apple = (await pixels(picture)).filter((pixel) => !isWhite(pixel));
    expect(apple.length).toBeGreaterThan(500);
    expect(apple.filter(isRed).length / apple.length).toBeGreaterThan(0.6);
    const blue = (await pixels((await generate({ prompt: 'a blue heart', guidance: 2.5 })).picture)).filter(
      (pixel) => !isWhite(pixel),
    );
    expect(blue.filter(([r, , b]) => b > r + 40).length / blue.length).toBeGreaterThan(0.6);
  });

  test('seed: gives the same bytes alone and in a batch', async () => {
    const request = { prompt: 'mushroom', steps: 2 };
    const { pictures } = await generate({ ...request, seed: 8, count: 2 });
    const [first, second] = pictures as [Buffer, Buffer];
    expect(first.equals((await generate({ ...request, seed: 8 })).picture)).toBe(true);
    expect(second.equals((await generate({ ...request, seed: 9 })).picture)).toBe(true);
    expect(first.equals(second)).toBe(false);
  });

  test('denoising strength: more strength changes more of the image', async () => {
    const { picture: initial } = await generate({ prompt: 'yellow car', steps: 2 });
    const differences = [];
    for (const strength of [0, 0.2, 0.9]) {
      const { picture } = await generate({ prompt: 'green tree', initial, strength, steps: 5 });
      differences.push(await meanDifference(initial, picture));
    }
    const [none = 1, little = 99, much = 0] = differences;
    expect(none).toBe(0);
    expect(little).toBeLessThan(20);
    expect(much).toBeGreaterThan(little);
  });

  test('mask: the black part is unchanged', async () => {
    const initial = await plain('#2040c0', 128).toBuffer();
    const right = await sharp({ create: { width: 64, height: 128, channels: 3, background: '#fff' } })
      .png()
      .toBuffer();
    const mask = await plain('#000', 128)
      .composite([{ input: right, left: 64, top: 0 }])
      .toBuffer();
    const { picture } = await generate({ prompt: 'a red apple', initial, mask, width: 128, height: 128, steps: 4 });
    const all = await pixels(picture);
    const left = all.filter((_, index) => index % 128 < 64);
    expect(left.every(([r, g, b]) => r === 0x20 && g === 0x40 && b === 0xc0)).toBe(true);
    const changed = all.filter(
      ([r, g, b], index) => index % 128 > 80 && Math.abs(r - 0x20) + Math.abs(g - 0x40) + Math.abs(b - 0xc0) > 60,
    );
    expect(changed.length).toBeGreaterThan(500);
  });

  test('sizes: any size is drawn, and info says how', async () => {
    const { events, picture } = await generate({
      prompt: 'purple heart',
      width: 300,
      height: 200,
      steps: 2,
      previewEvery: 1,
    });
    const { width, height, format } = await sharp(picture).metadata();
    expect([width, height, format]).toEqual([300, 200, 'png']);
    const finish = events.at(-1);
    expect(finish?.type === 'finish' && finish.notes.join()).toContain('to the left and right');
    expect(events.filter((event) => event.type === 'progress' && event.preview).length).toBe(1);
  });

  test('negative prompt: changes the image', async () => {
    const request = { prompt: 'apple', steps: 2, seed: 3, guidance: 2.5 };
    const { picture: defaults } = await generate(request);
    const { picture: other } = await generate({ ...request, negativePrompt: 'red' });
    expect(await meanDifference(defaults, other)).toBeGreaterThan(1);
  });
});

describe('image failures', () => {
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: AppError) => error.code ?? error.message,
    );

  test('disconnect: ends within a step, and the next image is drawn', async () => {
    const stop = new AbortController();
    const events = engine.generate(imageRequest({ prompt: 'house', steps: 150, count: 4, guidance: 3 }), stop.signal);
    const reading = (async () => {
      for await (const event of events) if (event.type === 'progress') stop.abort(new Error('gone'));
    })();
    expect(await codeOf(reading)).toBe('gone');
    expect((await generate({ prompt: 'house', steps: 1 })).pictures.length).toBe(1);
  });

  test('invalid images and sizes are refused, and the engine survives', async () => {
    const pid = host.pid;
    expect(await codeOf(generate({ initial: Buffer.from('no picture') }))).toBe('invalid-field');
    expect(await codeOf(generate({ width: 100_000 }))).toBe('invalid-field');
    expect((await generate({ steps: 1 })).pictures.length).toBe(1);
    expect(host.pid).toBe(pid);
  });

  test('killed engine: only its request fails, and it restarts', async () => {
    const { pid } = host;
    const events = engine.generate(imageRequest({ prompt: 'house', steps: 100 }), new AbortController().signal);
    const reading = (async () => {
      let killed = false;
      for await (const event of events) {
        if (event.type !== 'progress' || killed) continue;
        killed = true;
        process.kill(pid as number, 'SIGKILL');
      }
    })();
    expect(await codeOf(reading)).toBe('engine-lost');
    expect((await generate({ prompt: 'house', steps: 1 })).pictures.length).toBe(1);
    expect(host.pid).not.toBe(pid);
  });
});

test('upscaler: enlarges a checker pattern four times without shifting it', async () => {
  const side = 32;
  const data = Buffer.from(
    Array.from({ length: side * side * 3 }, (_, index) => {
      const pixel = Math.floor(index / 3);
      return ((pixel % side) >> 3) % 2 === (Math.floor(pixel / side) >> 3) % 2 ? 255 : 0;
    }),
  );
  const picture = await sharp(data, { raw: { width: side, height: side, channels: 3 } })
    .png()
    .toBuffer();
  const request = { image: picture, upscaler: 'ESRGAN-slim 4x', width: 128, height: 128 };
  const larger = await pixels(await engine.upscale(request, new AbortController().signal));
  for (const [x, y] of [
    [16, 16],
    [48, 16],
    [16, 48],
    [112, 112],
    [80, 112],
  ] as const) {
    const [value] = larger[y * 128 + x] as [number, number, number];
    expect(Math.abs(value - ((x >> 5) % 2 === (y >> 5) % 2 ? 255 : 0))).toBeLessThan(40);
  }
});
