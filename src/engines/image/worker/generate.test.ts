import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../core/errors.ts';
import type { ImageRequest } from '../../../core/image.ts';
import { readImage } from '../codec.ts';
import { sketch } from '../facts.ts';
import type { FlowNetwork } from '../flow/sampling.ts';
import type { ImageTaskEvent } from '../host.ts';
import { repeating } from '../testing/repeating.ts';
import { imageRequest } from '../testing/request.ts';
import { generate, planOf } from './generate.ts';
import type { NetworkOf } from './upscale.ts';

const area = sketch.side * sketch.side;

/** Leads straight to one colour: the first three numbers of what it is told. */
const oneColour: FlowNetwork = async ({ x, time, conditions }) =>
  x.map((value, index) => {
    const condition = conditions[Math.floor(index / (3 * area))];
    const wanted = condition?.[Math.floor(index / area) % 3] as number;
    return (wanted - value) / Math.max(1 - time, 1e-3);
  });

const condition = (...numbers: number[]) => {
  const whole = new Float32Array(sketch.conditionLength);
  whole.set(numbers);
  return whole;
};
const red = condition(1, -1, -1);

/** Repeats pixels, and tells by which factor. */
function upscalers(log: number[] = []): NetworkOf {
  return async (scale) => repeating(scale, () => log.push(scale));
}

async function drawn(
  changes: Partial<ImageRequest> = {},
  { network = oneColour, wanted = red, upscaler = upscalers(), signal = new AbortController().signal } = {},
) {
  const told: ImageTaskEvent[] = [];
  const task = { request: imageRequest(changes), conditions: [wanted, condition()], shortened: false } as const;
  await generate(task, { network, upscaler, signal, emit: (event) => told.push(event) });
  const images = told.flatMap((one) => (one.type === 'image' ? [one.png] : []));
  const finish = told.find((one) => one.type === 'finish') as Extract<ImageTaskEvent, { type: 'finish' }>;
  return { told, images, finish };
}

const pixelsOf = (bytes: Uint8Array | undefined) => readImage({ bytes: bytes ?? new Uint8Array(), field: 'test' });
const plain = (width: number, height: number, background: string) =>
  sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();

describe('generate', () => {
  test('sends a PNG of the requested size after all steps', async () => {
    const { told, images, finish } = await drawn({ steps: 3 });
    expect(told.map(({ type }) => type)).toEqual(['progress', 'progress', 'progress', 'image', 'finish']);
    const { width, height, data } = await pixelsOf(images[0]);
    expect([width, height, ...data.subarray(0, 3)]).toEqual([64, 64, 255, 0, 0]);
    expect(finish).toMatchObject({ width: 64, height: 64, steps: 3, sampler: 'Euler', scheduler: 'Simple', notes: [] });
  });

  test('upscales with as many networks as the size needs', async () => {
    for (const [side, scales] of [
      [48, []],
      [64, []],
      [100, [2]],
      [128, [2]],
      [192, [2, 2]],
      [256, [2, 2]],
      [300, [2, 4]],
      [600, [2, 4]],
    ] as const) {
      const log: number[] = [];
      const { images } = await drawn({ width: side, height: side, steps: 1 }, { upscaler: upscalers(log) });
      const { width, height, data } = await pixelsOf(images[0]);
      expect([width, height, log]).toEqual([side, side, scales]);
      expect(data[0]).toBeGreaterThan(250);
    }
  });

  test('supports any aspect ratio', async () => {
    for (const [width, height] of [
      [128, 64],
      [64, 200],
      [1, 1],
      [2048, 8],
    ] as const) {
      const { images } = await drawn({ width, height, steps: 1 });
      const pixels = await pixelsOf(images[0]);
      expect([pixels.width, pixels.height]).toEqual([width, height]);
    }
  });

  test('sends previews every previewEvery steps, except after the last step', async () => {
    const { told } = await drawn({ steps: 4, previewEvery: 2, width: 512, height: 256 });
    const steps = told.filter((one) => one.type === 'progress');
    expect(steps.map(({ preview }) => preview !== undefined)).toEqual([false, true, false, false]);
    const { width, height, data } = await pixelsOf(steps[1]?.preview);
    expect([width, height, data[0]]).toEqual([128, 64, 255]);
  });
});

describe('draw: several pictures', () => {
  /** Keeps what the noise was. */
  const idle: FlowNetwork = async ({ x }) => new Float32Array(x.length);

  test('each has the next seed and equals the picture drawn alone with that seed', async () => {
    const { told, images } = await drawn({ count: 6, seed: 40 }, { network: idle });
    const listed = told.flatMap((one) => (one.type === 'image' ? [[one.index, one.seed]] : []));
    expect(listed).toEqual([40, 41, 42, 43, 44, 45].map((seed, index) => [index, seed]));
    for (const index of [0, 3, 5]) {
      const alone = await drawn({ seed: 40 + index }, { network: idle });
      expect(Buffer.compare(images[index] ?? Buffer.of(), alone.images[0] ?? Buffer.of(1))).toBe(0);
    }
    expect(Buffer.compare(images[0] ?? Buffer.of(), images[1] ?? Buffer.of())).not.toBe(0);
  });

  test('sends each picture as soon as it is complete', async () => {
    const { told } = await drawn({ count: 3, steps: 2, guidance: 2 }, { network: idle });
    const each = ['progress', 'progress', 'image'];
    expect(told.map(({ type }) => type)).toEqual([...each, ...each, ...each, 'finish']);
  });

  test('rejects more than 16 pictures', async () => {
    await expect(drawn({ count: 17 })).rejects.toThrow('the number of pictures must be a whole number from 1 to 16');
  });
});

describe('draw: img2img', () => {
  test('strength 0 returns the initial picture unchanged', async () => {
    const noise = Buffer.from(Array.from({ length: 100 * 80 * 3 }, (_, index) => (index * 7919) % 256));
    const initial = await sharp(noise, { raw: { width: 100, height: 80, channels: 3 } })
      .png()
      .toBuffer();
    const { images } = await drawn({ initial, strength: 0, width: 100, height: 80 });
    expect(Buffer.from((await pixelsOf(images[0])).data).equals(noise)).toBe(true);
  });

  test('a lower strength takes fewer steps', async () => {
    const initial = await plain(64, 64, '#0000ff');
    const { finish, images } = await drawn({ initial, strength: 0.5, steps: 10 });
    expect(finish.steps).toBe(5);
    expect([...(await pixelsOf(images[0])).data.subarray(0, 3)]).toEqual([255, 0, 0]);
  });

  test('inpainting keeps black areas bit for bit and redraws white ones', async () => {
    const initial = await plain(200, 100, '#1234ef');
    const mask = await sharp(await plain(200, 100, '#000'))
      .composite([{ input: await plain(100, 100, '#fff'), left: 100, top: 0 }])
      .png()
      .toBuffer();
    const { images } = await drawn({ initial, mask, width: 200, height: 100 });
    const { data } = await pixelsOf(images[0]);
    const at = (x: number, y: number) => [...data.subarray((y * 200 + x) * 3, (y * 200 + x) * 3 + 3)];
    for (const x of [0, 50, 98, 99]) expect(at(x, 50)).toEqual([0x12, 0x34, 0xef]);
    for (const x of [120, 150, 199]) expect(at(x, 50)[0]).toBeGreaterThan(250);
    // Between them is no hard edge.
    const between = at(101, 50)[0] as number;
    expect(between).toBeGreaterThan(0x12);
    expect(between).toBeLessThan(250);
  });

  test('a mask without an initial picture is ignored, with a note', async () => {
    const { finish } = await drawn({ mask: await plain(8, 8, '#fff') });
    expect(finish.notes).toEqual(['There is no initial picture, so the mask was left out.']);
  });

  test('rejects unreadable pictures by field name', async () => {
    const broken = Buffer.from('no picture');
    const codes = await Promise.all(
      [{ initial: broken }, { initial: await plain(8, 8, '#fff'), mask: broken }].map((changes) =>
        drawn(changes).then(
          () => '',
          (error: AppError) => `${error.status} ${error.message}`,
        ),
      ),
    );
    expect(codes[0]).toMatch(/^400 the initial picture must be a picture/);
    expect(codes[1]).toMatch(/^400 mask must be a picture/);
  });
});

test('draw: stops on abort', async () => {
  const stop = new AbortController();
  let steps = 0;
  const network: FlowNetwork = async (given) => {
    steps += 1;
    if (steps === 2) stop.abort(new Error('gone'));
    return oneColour(given);
  };
  await expect(drawn({ steps: 9 }, { network, signal: stop.signal })).rejects.toThrow('gone');
  expect(steps).toBe(2);
});

const fromNothing = { initial: false, shortened: false };
const fromPicture = { initial: true, shortened: false };
const square = { width: 64, height: 64 };

describe('planOf', () => {
  test('a supported request has no notes', () => {
    const plan = planOf(
      imageRequest({ ...square, steps: 4, guidance: 2, sampler: 'heun', scheduler: 'shifted' }),
      fromNothing,
    );
    expect(plan).toMatchObject({ sampler: 'Heun', scheduler: 'Shifted', steps: 4, guidance: 2, notes: [] });
    expect(plan.times.length).toBe(5);
  });

  test('notes which names replaced unknown ones', () => {
    const { sampler, scheduler, notes } = planOf(
      imageRequest({ ...square, sampler: 'LCM', scheduler: 'Karras' }),
      fromNothing,
    );
    expect([sampler, scheduler]).toEqual(['Euler', 'Simple']);
    expect(notes).toEqual([
      'There is no sampler "LCM"; Euler was taken.',
      'There is no scheduler "Karras"; Simple was taken.',
    ]);
  });

  test('notes how the picture got its size', () => {
    const note = (width: number, height: number, given = fromNothing) =>
      planOf(imageRequest({ width, height }), given).notes.join(' ');
    expect(note(64, 64)).toBe('');
    expect(note(512, 512)).toBe('The model draws 64×64; the picture was brought to 512×512 by an upscaler.');
    expect(note(512, 768)).toContain('a square whose edges go on above and below');
    expect(note(768, 512)).toContain('to the left and right');
    expect(note(768, 512, fromPicture)).toContain('stretched');
    expect(note(32, 32)).toBe('The model draws 64×64; the picture was made smaller, to 32×32.');
  });

  test('notes other unsupported settings', () => {
    const { notes, steps } = planOf(imageRequest({ ...square, steps: 500, clipSkip: 2 }), {
      initial: false,
      shortened: true,
    });
    expect(steps).toBe(150);
    expect(notes.length).toBe(3);
    expect(notes.join(' ')).toMatch(/150 steps.*end was left out.*clip_skip/);
  });

  test('img2img takes the steps of its strength', () => {
    const plan = planOf(imageRequest({ ...square, steps: 10, strength: 0.5 }), fromPicture);
    expect([plan.steps, plan.times[0]]).toEqual([5, 0.5]);
    expect(planOf(imageRequest({ strength: 0.5, steps: 10 }), fromNothing).steps).toBe(10);
    expect(planOf(imageRequest({ strength: 0 }), fromPicture).steps).toBe(0);
    expect(planOf(imageRequest({ strength: 7, steps: 10 }), fromPicture).steps).toBe(10);
  });

  test('any numbers are clamped or rejected by field name', () => {
    const anyNumber = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -1, 2048, 2049));
    fc.assert(
      fc.property(anyNumber, anyNumber, anyNumber, (width, height, count) => {
        try {
          planOf(imageRequest({ width, height, count }), fromNothing);
          expect(Math.max(width, height)).toBeLessThanOrEqual(2048);
          expect(Math.min(width, height, count)).toBeGreaterThanOrEqual(1);
          expect(count).toBeLessThanOrEqual(16);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
          expect((error as AppError).message).toMatch(/^(width|height|the number of pictures) must be a whole number/);
        }
      }),
    );
  });
});
