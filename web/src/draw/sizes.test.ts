import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aspectNames, aspectOf, aspects, nearestResolution, resolutionOf, resolutions, sizeFor } from './sizes.ts';

describe('sizeFor', () => {
  test.each([
    ['1:1', 512, 512, 512],
    ['1:1', 1024, 1024, 1024],
    ['4:3', 1024, 1152, 896],
    ['16:9', 1024, 1344, 768],
    ['9:16', 1024, 768, 1344],
    ['3:4', 256, 224, 288],
  ] as const)('%s at %i is %i x %i', (aspect, side, width, height) => {
    expect(sizeFor(aspect, side)).toEqual({ width, height });
  });

  test('stays within the area of the square, in multiples of 16', () => {
    fc.assert(
      fc.property(fc.constantFrom(...aspectNames), fc.constantFrom(...resolutions), (aspect, side) => {
        const { width, height } = sizeFor(aspect, side);
        expect(width % 16).toBe(0);
        expect(height % 16).toBe(0);
        // The shortest side is 64, so that the smallest square allows no other ratio.
        if (side > 64) expect(width * height).toBeLessThanOrEqual(side * side);
      }),
    );
  });
});

test('aspectOf: finds the preset of each size', () => {
  for (const aspect of aspectNames)
    for (const side of resolutions.filter((one) => one >= 256)) expect(aspectOf(sizeFor(aspect, side))).toBe(aspect);
  expect(aspectOf({ width: 1000, height: 100 })).toBeUndefined();
});

test('resolutionOf: is undefined for custom sizes', () => {
  expect(resolutionOf({ width: 1344, height: 768 })).toBe(1024);
  expect(resolutionOf({ width: 520, height: 520 })).toBeUndefined();
  expect(resolutionOf({ width: 1000, height: 100 })).toBeUndefined();
  expect(nearestResolution({ width: 520, height: 520 })).toBe(512);
});

test('aspects: each ratio is that of its name', () => {
  for (const [name, ratio] of Object.entries(aspects)) {
    const [width, height] = name.split(':').map(Number);
    expect(ratio).toBe((width ?? 0) / (height ?? 1));
  }
});
