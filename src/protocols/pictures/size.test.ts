import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { drawnSize, type SizeLimits } from './size.ts';

const open: SizeLimits = { longestSide: 0, areaSide: 0 };
const large = { nativeSize: 512 };
const size = (width: number, height: number, limits = open, facts = large) =>
  drawnSize({ width, height }, limits, facts);

describe('drawnSize', () => {
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
    const clamped = { longestSide: 512, areaSide: 0 };
    expect(size(1024, 512, clamped)).toEqual({ width: 512, height: 256 });
    expect(size(300, 300, clamped)).toEqual({ width: 256, height: 256 });
    expect(size(512, 512, { longestSide: 10, areaSide: 0 })).toEqual({ width: 64, height: 64 });
  });

  test('limits the area to --sdclampedsoft', () => {
    expect(size(1024, 1024, { longestSide: 0, areaSide: 256 })).toEqual({ width: 256, height: 256 });
    expect(size(2048, 2048, { longestSide: 0, areaSide: 9000 })).toEqual({ width: 2048, height: 2048 });
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
        (width, height, longestSide, areaSide, nativeSize) => {
          const found = size(width, height, { longestSide, areaSide }, { nativeSize });
          const step = nativeSize >= 512 ? 64 : 8;
          const area = areaSide || (nativeSize === 512 ? 832 : 1024);
          expect([found.width % step, found.height % step]).toEqual([0, 0]);
          expect(Math.min(found.width, found.height)).toBeGreaterThanOrEqual(64);
          expect(Math.max(found.width, found.height)).toBeLessThanOrEqual(Math.max(64, longestSide || 8192));
          expect(found.width * found.height).toBeLessThanOrEqual(area ** 2);
          // What was wider than high never becomes higher than wide.
          if (width > height) expect(found.width).toBeGreaterThanOrEqual(found.height);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
