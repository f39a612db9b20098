import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { drawSquares, fakeImage, imageFacts, pictureParts, stoppedAfterOne } from '../testing/pictures.ts';
import {
  allowedSize,
  chooseUpscaler,
  collectImages,
  enlargedSize,
  imageOf,
  imageRequest,
  isResampler,
  isTooLarge,
  knownLoras,
  networksOf,
  type RequestedImage,
  type SizeLimits,
  withoutLoraTags,
} from './request.ts';

const made = (asked: Partial<RequestedImage> = {}) =>
  imageRequest({ prompt: 'a boat', ...asked }, imageFacts, pictureParts(undefined));

describe('imageRequest', () => {
  test('takes missing values from the defaults of the model', () => {
    expect(made()).toEqual({
      prompt: 'a boat',
      negativePrompt: '',
      width: 512,
      height: 512,
      steps: 20,
      guidance: 5,
      sampler: 'euler',
      scheduler: 'discrete',
      seed: 417_203,
      count: 1,
      clipSkip: 0,
      strength: 0.6,
      previewEvery: 0,
    });
  });

  test('limits all numbers', () => {
    expect(made({ steps: 0, guidance: 0, count: 0, strength: -1 })).toMatchObject({
      steps: 1,
      guidance: 1,
      count: 1,
      strength: 0,
    });
    expect(made({ steps: 1e9, guidance: 99, count: 99, strength: 7 })).toMatchObject({
      steps: 80,
      guidance: 25,
      count: 10,
      strength: 1,
    });
  });

  test('applies narrower limits, and ignores wider ones', () => {
    expect(made({ steps: 50, guidance: 20, maxSteps: 8, maxGuidance: 2 })).toMatchObject({ steps: 8, guidance: 2 });
    expect(made({ steps: 500, maxSteps: 1000, maxGuidance: -3, guidance: 9 })).toMatchObject({
      steps: 80,
      guidance: 1,
    });
  });

  test.each([
    [-1, 417_203],
    [undefined, 417_203],
    [0, 0],
    [5.9, 5],
    [2 ** 32, 0],
    [2 ** 53 - 1, 4_294_967_295],
  ])('seed %s becomes %s', (seed, expected) => {
    expect(made({ seed }).seed).toBe(expected);
  });

  test('clip_skip 1 means none', () => {
    expect([0, 1, 2, 99, -1].map((clipSkip) => made({ clipSkip }).clipSkip)).toEqual([0, 0, 2, 12, 0]);
  });

  test('cuts long prompts between characters', () => {
    const { prompt } = made({ prompt: '灯'.repeat(2000) });
    expect(prompt).toBe('灯'.repeat(1000));
    expect(made({ prompt: `a${'灯'.repeat(2000)}` }).prompt).toBe(`a${'灯'.repeat(999)}`);
  });

  test('is within bounds for any input', () => {
    const number = fc.option(fc.double({ noNaN: true }), { nil: undefined });
    fc.assert(
      fc.property(
        fc.record({
          width: number,
          height: number,
          steps: number,
          guidance: number,
          seed: number,
          count: number,
          clipSkip: number,
          strength: number,
          maxSteps: number,
          maxGuidance: number,
        }),
        (asked) => {
          const request = made(asked);
          expect(Number.isInteger(request.steps) && request.steps >= 1 && request.steps <= 80).toBe(true);
          expect(Number.isInteger(request.count) && request.count >= 1 && request.count <= 10).toBe(true);
          expect(request.guidance >= 1 && request.guidance <= 25).toBe(true);
          expect(request.strength >= 0 && request.strength <= 1).toBe(true);
          expect(Number.isInteger(request.width) && Number.isInteger(request.height)).toBe(true);
          expect(request.width * request.height).toBeLessThanOrEqual(832 ** 2);
          expect(Number.isInteger(request.seed) && request.seed >= 0 && request.seed < 2 ** 32).toBe(true);
          expect(request.clipSkip === 0 || (request.clipSkip >= 2 && request.clipSkip <= 12)).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('imageOf', () => {
  test('returns the image service, or throws model-missing', () => {
    const { image } = fakeImage();
    expect(imageOf({ image })).toBe(image);
    expect(() => imageOf({})).toThrow('No image model is loaded. Start the server with --sdmodel FILE.');
    expect(() => imageOf(undefined)).toThrow('No image model');
  });
});

const open: SizeLimits = { maxSide: 0, areaSide: 0 };
const large = { nativeSize: 512 };
const size = (width: number, height: number, limits = open, facts = large) =>
  allowedSize({ width, height }, limits, facts);

describe('allowedSize', () => {
  test('rounds down to multiples of 64', () => {
    expect(size(512, 512)).toEqual({ width: 512, height: 512 });
    expect(size(575, 640)).toEqual({ width: 512, height: 640 });
  });

  test('is at least 64 for any input', () => {
    expect(size(0, -5)).toEqual({ width: 64, height: 64 });
    expect(size(1, 100)).toEqual({ width: 64, height: 64 });
  });

  test('limits the area to that of the model, and keeps the aspect ratio', () => {
    expect(size(1024, 1024)).toEqual({ width: 832, height: 832 });
    expect(size(1024, 1024, open, { nativeSize: 1024 })).toEqual({ width: 1024, height: 1024 });
    expect(size(1920, 1080)).toEqual({ width: 1088, height: 576 });
    expect(size(1e9, 1e9)).toEqual({ width: 832, height: 832 });
  });

  test('limits the longest side to --sdclamped', () => {
    const clamped = { maxSide: 512, areaSide: 0 };
    expect(size(1024, 512, clamped)).toEqual({ width: 512, height: 256 });
    expect(size(300, 300, clamped)).toEqual({ width: 256, height: 256 });
    expect(size(512, 512, { maxSide: 10, areaSide: 0 })).toEqual({ width: 64, height: 64 });
  });

  test('limits the area to --sdclampedsoft', () => {
    expect(size(1024, 1024, { maxSide: 0, areaSide: 256 })).toEqual({ width: 256, height: 256 });
    expect(size(2048, 2048, { maxSide: 0, areaSide: 9000 })).toEqual({ width: 2048, height: 2048 });
  });

  test('uses multiples of 8 for small models', () => {
    expect(size(100, 203, open, { nativeSize: 64 })).toEqual({ width: 96, height: 200 });
  });

  test('stays within all limits for any input', () => {
    const side = fc.oneof(fc.integer({ min: -10, max: 20_000 }), fc.double({ min: 0, max: 1e6, noNaN: true }));
    fc.assert(
      fc.property(
        side,
        side,
        fc.constantFrom(0, 64, 100, 512, 1000, 4096),
        fc.constantFrom(0, 64, 100, 700, 2048),
        fc.constantFrom(32, 64, 512, 1024),
        (width, height, maxSide, areaSide, nativeSize) => {
          const found = size(width, height, { maxSide, areaSide }, { nativeSize });
          const step = nativeSize >= 512 ? 64 : 8;
          const area = areaSide || (nativeSize === 512 ? 832 : 1024);
          expect([found.width % step, found.height % step]).toEqual([0, 0]);
          expect(Math.min(found.width, found.height)).toBeGreaterThanOrEqual(64);
          expect(Math.max(found.width, found.height)).toBeLessThanOrEqual(Math.max(64, maxSide || 8192));
          expect(found.width * found.height).toBeLessThanOrEqual(area ** 2);
          // Landscape never becomes portrait.
          if (width > height) expect(found.width).toBeGreaterThanOrEqual(found.height);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe('withoutLoraTags', () => {
  test('removes the tags and returns them', () => {
    expect(withoutLoraTags('a boat <lora:film:0.8>, at sea <lyco:x>')).toEqual({
      prompt: 'a boat, at sea',
      loras: [
        { name: 'film', weight: 0.8 },
        { name: 'x', weight: 1 },
      ],
    });
  });

  test('leaves a prompt without tags unchanged', () => {
    const prompt = 'a  boat < 3 , <b>bold</b> <lora>';
    expect(withoutLoraTags(prompt)).toEqual({ prompt, loras: [] });
  });

  test('takes linear time', () => {
    expect(withoutLoraTags('<lora:'.repeat(20_000)).loras).toEqual([]);
  });
});

describe('knownLoras', () => {
  const facts = { loras: [{ name: 'film', file: 'film.safetensors' }] };

  test('finds LoRAs by name or file, ignoring case', () => {
    const asked = [
      { name: 'Film', weight: 0.5 },
      { name: 'film.safetensors', weight: 1 },
    ];
    expect(knownLoras(asked, facts)).toEqual({ loras: asked, notes: [] });
  });

  test('has a note for each unknown LoRA', () => {
    expect(knownLoras([{ name: 'fog', weight: 1 }], facts)).toEqual({ notes: ['There is no LoRA fog'] });
    expect(knownLoras([{ name: 'film', weight: 1 }], {})).toEqual({ notes: ['There is no LoRA film'] });
  });

  test('withoutLoraTags: reads the first weight, and 1 if it is invalid', () => {
    const weights = (prompt: string) => withoutLoraTags(prompt).loras.map(({ weight }) => weight);
    expect(weights('<lora:a:-0.5:2> <lora:b:x> <lora:c> <lora:d:0>')).toEqual([-0.5, 1, 1, 0]);
  });
});

const request = imageRequest(
  { prompt: 'a boat', width: 64, height: 64, count: 3, seed: 5 },
  imageFacts,
  pictureParts(undefined),
);

describe('collectImages', () => {
  test('returns pictures and effective parameters', async () => {
    const drawn = await collectImages(drawSquares(request, ['No such sampler']), request);
    expect(drawn.pictures.map(({ seed }) => seed)).toEqual([5, 6, 7]);
    expect(drawn).toMatchObject({ width: 64, steps: 20, sampler: 'euler', notes: ['No such sampler'], stopped: false });
  });

  test('orders pictures by index', async () => {
    const png = new Uint8Array();
    const events = async function* () {
      yield { type: 'image', index: 2, seed: 7, png } as const;
      yield { type: 'image', index: 0, seed: 5, png } as const;
    };
    const { pictures } = await collectImages(events(), request);
    expect(pictures.map(({ seed }) => seed)).toEqual([5, 7]);
  });

  test('skipped pictures: is stopped only if all were skipped', async () => {
    const picture = { type: 'image', index: 1, seed: 6, png: new Uint8Array() } as const;
    const some = async function* () {
      yield picture;
    };
    const none = async function* () {};
    expect(await collectImages(some(), request)).toMatchObject({ pictures: [{ seed: 6 }], stopped: false });
    expect(await collectImages(none(), request)).toMatchObject({ pictures: [], stopped: true });
  });

  test('stopped: returns the finished pictures', async () => {
    const drawn = await collectImages(stoppedAfterOne(request), request);
    expect(drawn).toMatchObject({ stopped: true, width: 64 });
    expect(drawn.pictures).toHaveLength(1);
  });

  test('rejects with other errors', async () => {
    // biome-ignore lint/correctness/useYield: fails before the first event.
    const events = async function* () {
      throw new AppError('engine-lost', { capability: 'image' });
    };
    await expect(collectImages(events(), request)).rejects.toMatchObject({ code: 'engine-lost' });
  });
});

const facts = {
  upscalers: [
    { name: 'None', scale: 1 },
    { name: 'Lanczos', scale: 4 },
    { name: 'ESRGAN_4x', scale: 4 },
    { name: 'Soft_2x', scale: 2 },
  ],
};

describe('upscaling', () => {
  test('enlargedSize: has whole pixels from 1 to 8192', () => {
    expect(enlargedSize({ width: 100.6, height: 0.2 })).toEqual({ width: 101, height: 1 });
    expect(enlargedSize({ width: 1e9, height: 10 })).toEqual({ width: 8192, height: 10 });
    expect(isTooLarge({ width: 8193, height: 1 })).toBe(true);
    expect(isTooLarge({ width: 8192, height: 8192 })).toBe(false);
  });

  test('chooseUpscaler: finds an upscaler by name', () => {
    expect(chooseUpscaler(' soft_2X ', facts, 9)?.name).toBe('Soft_2x');
    expect(chooseUpscaler('lanczos', facts, 2)?.name).toBe('Lanczos');
    expect(chooseUpscaler('Nearest', facts, 2)?.name).toBe('None');
  });

  test.each([
    [1.5, 'Soft_2x'],
    [2, 'Soft_2x'],
    [3, 'ESRGAN_4x'],
    [16, 'ESRGAN_4x'],
  ])('chooseUpscaler: uses the smallest sufficient network for a factor of %s and an unknown name', (factor, name) => {
    expect(chooseUpscaler('R-ESRGAN 4x+', facts, factor)?.name).toBe(name);
    expect(chooseUpscaler(undefined, facts, factor)?.name).toBe(name);
  });

  test('chooseUpscaler: is undefined without networks', () => {
    expect(chooseUpscaler('Soft_2x', { upscalers: [{ name: 'None', scale: 1 }] }, 2)).toBeUndefined();
    expect(chooseUpscaler(undefined, { upscalers: [] }, 2)).toBeUndefined();
  });

  test('networksOf: leaves out resamplers', () => {
    expect(networksOf(facts).map(({ name }) => name)).toEqual(['ESRGAN_4x', 'Soft_2x']);
    expect(['None', ' lanczos', 'NEAREST', 'ESRGAN'].map(isResampler)).toEqual([true, true, true, false]);
  });
});
