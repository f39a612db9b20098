import { describe, expect, test } from 'vitest';
import { enlargedSize, isTooLarge, usualUpscaler } from './upscaling.ts';

const upscalers = [
  { name: 'ESRGAN_4x', scale: 4 },
  { name: 'Soft_2x', scale: 2 },
];

describe('enlarging', () => {
  test('has whole pixels, at least one and at most 8192', () => {
    expect(enlargedSize({ width: 100.6, height: 0.2 })).toEqual({ width: 101, height: 1 });
    expect(enlargedSize({ width: 1e9, height: 10 })).toEqual({ width: 8192, height: 10 });
    expect(isTooLarge({ width: 8193, height: 1 })).toBe(true);
    expect(isTooLarge({ width: 8192, height: 8192 })).toBe(false);
  });

  test('is done by the one that is named, or by the first', () => {
    expect(usualUpscaler(' soft_2X ', upscalers)).toBe('Soft_2x');
    expect(usualUpscaler('R-ESRGAN 4x+', upscalers)).toBe('ESRGAN_4x');
    expect(usualUpscaler(undefined, upscalers)).toBe('ESRGAN_4x');
    expect(usualUpscaler('Soft_2x', [])).toBeUndefined();
  });
});
