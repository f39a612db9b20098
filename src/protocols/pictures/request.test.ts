import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fakeImage, imageFacts, pictureParts } from '../testing/pictures.ts';
import { type AskedPicture, imageOf, imageRequest } from './request.ts';

const made = (asked: Partial<AskedPicture> = {}) =>
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
    expect(made({ steps: 50, guidance: 20, mostSteps: 8, mostGuidance: 2 })).toMatchObject({ steps: 8, guidance: 2 });
    expect(made({ steps: 500, mostSteps: 1000, mostGuidance: -3, guidance: 9 })).toMatchObject({
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
          mostSteps: number,
          mostGuidance: number,
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
