import { expect, test } from 'vitest';
import { upscalerFor } from './image-request.ts';

const builtIn = ['Nearest', 'Lanczos', 'ESRGAN-slim 2x', 'ESRGAN-slim 3x', 'ESRGAN-slim 4x', 'ESRGAN-slim 8x'];

test.each([
  [1.5, 'ESRGAN-slim 2x'],
  [2, 'ESRGAN-slim 2x'],
  [3.5, 'ESRGAN-slim 4x'],
  [8, 'ESRGAN-slim 8x'],
  [16, 'ESRGAN-slim 8x'],
])('upscalerFor: at factor %d, %s', (factor, name) => {
  expect(upscalerFor(builtIn, factor)).toBe(name);
});

test('upscalerFor: names without a scale give the last one, and an empty list none', () => {
  expect(upscalerFor(['Lanczos', 'Sharp'], 2)).toBe('Sharp');
  expect(upscalerFor([], 2)).toBe('');
});
