import { describe, expect, test } from 'vitest';
import { chooseUpscaler, enlargedSize, isResampler, isTooLarge, networksOf } from './upscaling.ts';

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
