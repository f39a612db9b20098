import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../core/errors.ts';
import { imageRequest } from '../testing/request.ts';
import { planOf } from './plan.ts';

const fromNothing = { initial: false, shortened: false };
const fromPicture = { initial: true, shortened: false };
const square = { width: 64, height: 64 };

describe('a plan', () => {
  test('is what was asked for, and has nothing to tell', () => {
    const plan = planOf(
      imageRequest({ ...square, steps: 4, guidance: 2, sampler: 'heun', scheduler: 'shifted' }),
      fromNothing,
    );
    expect(plan).toMatchObject({ sampler: 'Heun', scheduler: 'Shifted', steps: 4, guidance: 2, notes: [] });
    expect(plan.times.length).toBe(5);
  });

  test('tells what was taken in the place of names that there are not', () => {
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

  test('tells how a picture came to its size', () => {
    const note = (width: number, height: number, given = fromNothing) =>
      planOf(imageRequest({ width, height }), given).notes.join(' ');
    expect(note(64, 64)).toBe('');
    expect(note(512, 512)).toBe('The model draws 64×64; the picture was brought to 512×512 by an upscaler.');
    expect(note(512, 768)).toContain('a square whose edges go on above and below');
    expect(note(768, 512)).toContain('to the left and right');
    expect(note(768, 512, fromPicture)).toContain('stretched');
    expect(note(32, 32)).toBe('The model draws 64×64; the picture was made smaller, to 32×32.');
  });

  test('tells what else could not be done', () => {
    const { notes, steps } = planOf(imageRequest({ ...square, steps: 500, clipSkip: 2 }), {
      initial: false,
      shortened: true,
    });
    expect(steps).toBe(150);
    expect(notes.length).toBe(3);
    expect(notes.join(' ')).toMatch(/150 steps.*end was left out.*clip_skip/);
  });

  test('from a picture takes only the steps for what goes of it', () => {
    const plan = planOf(imageRequest({ ...square, steps: 10, strength: 0.5 }), fromPicture);
    expect([plan.steps, plan.times[0]]).toEqual([5, 0.5]);
    expect(planOf(imageRequest({ strength: 0.5, steps: 10 }), fromNothing).steps).toBe(10);
    expect(planOf(imageRequest({ strength: 0 }), fromPicture).steps).toBe(0);
    expect(planOf(imageRequest({ strength: 7, steps: 10 }), fromPicture).steps).toBe(10);
  });

  test('holds for whatever numbers come, within bounds or refused by name', () => {
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
