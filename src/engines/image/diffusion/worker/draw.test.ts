import { describe, expect, test } from 'vitest';
import { AppError } from '../../../../core/errors.ts';
import type { ImageRequest } from '../../../../core/image.ts';
import type { ImageTold } from '../../messages.ts';
import { readPicture, writePng } from '../../pictures/codec.ts';
import type { Pixels } from '../../pictures/pixels.ts';
import { imageRequest } from '../../testing/request.ts';
import { diffusionFacts } from '../facts.ts';
import type { PaintParams } from '../messages.ts';
import type { Painter } from '../painter.ts';
import { draw } from './draw.ts';

const plain = (width: number, height: number, colour: readonly [number, number, number]): Pixels => ({
  data: Uint8Array.from({ length: width * height * 3 }, (_, index) => colour[index % 3] as number),
  width,
  height,
  channels: 3,
});
const blue = await writePng(plain(64, 64, [32, 96, 192]));
const mask = await writePng({
  data: Uint8Array.from({ length: 64 * 64 }, (_, index) => (index % 64 < 32 ? 0 : 255)),
  width: 64,
  height: 64,
  channels: 1,
});

/** Draws everything in red, unless told otherwise. */
function world(behave: Partial<Painter> = {}) {
  const asked: { params: PaintParams; initial: boolean }[] = [];
  const told: (ImageTold & { bytes?: Uint8Array })[] = [];
  const painter: Pick<Painter, 'draw'> = {
    draw: async (params, initial, { progress }) => {
      asked.push({ params, initial: initial !== undefined });
      progress(1, params.steps);
      return writePng(plain(params.width, params.height, [200, 20, 20]));
    },
    ...behave,
  };
  const facts = diffusionFacts({ path: '/m.gguf', family: 'sd1', loras: [] });
  const options = { facts, family: 'sd1', loras: { fixed: [], offered: [] }, tiledFrom: 512 } as const;
  const stop = new AbortController();
  const run = (changes: Partial<ImageRequest> = {}) =>
    draw(imageRequest({ sampler: '', scheduler: '', ...changes }), options, {
      painter,
      signal: stop.signal,
      tell: (event, bytes) => told.push(bytes ? { ...event, bytes } : event),
    });
  const pictures = () => told.flatMap((each) => (each.type === 'picture' && each.bytes ? [each.bytes] : []));
  return { run, asked, told, pictures, stop };
}

const pixelAt = async (png: Uint8Array | undefined, x: number) => {
  const { data } = await readPicture({ bytes: png ?? new Uint8Array(), field: 'x' });
  return [...data.subarray(x * 3, x * 3 + 3)];
};

describe('drawing', () => {
  test('tells each step, each picture with its seed, and what was done', async () => {
    const { run, told, asked } = world();
    await run({ count: 2, seed: 2 ** 32 - 1, steps: 3 });
    expect(told.map(({ type }) => type)).toEqual(['progress', 'picture', 'progress', 'picture', 'finish']);
    expect(asked.map(({ params }) => params.seed)).toEqual([2 ** 32 - 1, 0]);
    expect(told[3]).toMatchObject({ index: 1, seed: 0 });
    expect(told.at(-1)).toMatchObject({ width: 64, height: 64, steps: 3, sampler: 'euler_a', scheduler: 'discrete' });
  });

  test('says what the driver says where it cannot', async () => {
    const { run } = world({ draw: () => Promise.reject(new Error('out of memory.')) });
    await expect(run()).rejects.toMatchObject({
      code: 'engine-failed',
      message: 'The image engine could not do this: out of memory.',
    });
  });

  test('ends with the reason where it was stopped, whatever the driver says', async () => {
    const own = world({
      draw: async () => {
        own.stop.abort(new AppError('stopped', {}));
        throw new Error('Job cancelled');
      },
    });
    await expect(own.run({ count: 3 })).rejects.toMatchObject({ code: 'stopped' });
    expect(own.pictures()).toEqual([]);
  });
});

describe('from a picture', () => {
  test('sends it in the size of the result', async () => {
    const { run, asked } = world();
    await run({ initial: blue, width: 128, height: 64, strength: 0.5 });
    expect(asked).toMatchObject([{ initial: true, params: { width: 128, strength: 0.5 } }]);
  });

  test('of which nothing goes draws nothing', async () => {
    const { run, asked, pictures } = world();
    await run({ initial: blue, strength: 0 });
    expect(asked).toEqual([]);
    expect(await pixelAt(pictures()[0], 5)).toEqual([32, 96, 192]);
  });

  test('with a mask leaves to the last bit what is black, and paints what is white', async () => {
    const { run, told, pictures } = world();
    await run({ initial: blue, mask, strength: 0.5 });
    expect([await pixelAt(pictures()[0], 0), await pixelAt(pictures()[0], 31)]).toEqual([
      [32, 96, 192],
      [32, 96, 192],
    ]);
    expect(await pixelAt(pictures()[0], 60)).toEqual([200, 20, 20]);
    expect(told.at(-1)).toMatchObject({ notes: [expect.stringContaining('no mask of its own')] });
  });

  test('that is none is refused before anything is drawn', async () => {
    const { run, asked } = world();
    await expect(run({ initial: Uint8Array.of(1, 2, 3) })).rejects.toMatchObject({ status: 400 });
    await expect(run({ initial: blue, mask: Uint8Array.of(1) })).rejects.toThrow('mask must be');
    expect(asked).toEqual([]);
  });
});
