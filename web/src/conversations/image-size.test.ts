import { expect, test, vi } from 'vitest';
import { imageSize, reservedSize } from './image-size.ts';

test('imageSize: is undefined if the browser cannot read the image', async () => {
  vi.stubGlobal('createImageBitmap', async () => ({ width: 640, height: 480 }));
  expect(await imageSize(new Blob())).toEqual({ width: 640, height: 480 });
  vi.stubGlobal('createImageBitmap', () => Promise.reject(new Error('damaged')));
  expect(await imageSize(new Blob())).toBeUndefined();
  vi.unstubAllGlobals();
});

test('reservedSize: keeps the aspect ratio and limits the height by the width', () => {
  expect(reservedSize({ width: 1000, height: 500 }, 26)).toBe('width: min(1000px, 52rem); aspect-ratio: 1000 / 500');
});
