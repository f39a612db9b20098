import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blended, fromPlanes, type Pixels, toPlanes } from './pixels.ts';

const anyPicture = (channels: number): fc.Arbitrary<Pixels> =>
  fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })).chain(([width, height]) => {
    const length = width * height * channels;
    return fc.uint8Array({ minLength: length, maxLength: length }).map((data) => ({ data, width, height, channels }));
  });

describe('planes', () => {
  test('toPlanes: one plane per colour, scaled to the range', () => {
    const pixels = { data: Uint8Array.of(0, 51, 102, 255, 204, 153), width: 2, height: 1, channels: 3 };
    const planes = [...toPlanes(pixels, 0, 1)].map((value) => Number(value.toFixed(1)));
    expect(planes).toEqual([0, 1, 0.2, 0.8, 0.4, 0.6]);
    expect([...toPlanes(pixels, -1, 1)].slice(0, 2)).toEqual([-1, 1]);
  });

  test('fromPlanes: restores the pixels', () => {
    fc.assert(
      fc.property(anyPicture(3), fc.constantFrom([0, 1] as const, [-1, 1] as const), (pixels, [from, to]) => {
        expect(fromPlanes(toPlanes(pixels, from, to), pixels, from, to)).toEqual(pixels);
      }),
    );
  });

  test('toPlanes: ignores alpha', () => {
    const rgba = { data: Uint8Array.of(0, 51, 102, 7, 255, 204, 153, 9), width: 2, height: 1, channels: 4 };
    const rgb = { data: Uint8Array.of(0, 51, 102, 255, 204, 153), width: 2, height: 1, channels: 3 };
    expect(toPlanes(rgba, 0, 1)).toEqual(toPlanes(rgb, 0, 1));
  });

  test('fromPlanes: clamps values out of range', () => {
    const { data } = fromPlanes(Float32Array.of(-3, 0, 3), { width: 1, height: 1 }, -1, 1);
    expect([...data]).toEqual([0, 128, 255]);
  });
});

describe('blended', () => {
  const sized = { width: 3, height: 1 };
  const over = { ...sized, data: Uint8Array.of(200, 200, 200, 200, 200, 200, 200, 200, 200), channels: 3 };
  const under = { ...sized, data: Uint8Array.of(10, 20, 30, 40, 50, 60, 70, 80, 90), channels: 3 };
  const mask = (...data: number[]) => ({ ...sized, data: Uint8Array.from(data), channels: 1 });

  test('takes the upper picture where the mask is white, the lower one where it is black', () => {
    expect([...blended(over, under, mask(255, 0, 255)).data]).toEqual([200, 200, 200, 40, 50, 60, 200, 200, 200]);
  });

  test('mixes both where the mask is grey', () => {
    const [red = 0] = blended(over, under, mask(127, 0, 0)).data;
    expect(red).toBeGreaterThan(100);
    expect(red).toBeLessThan(110);
  });

  test('a black mask keeps the lower picture bit for bit', () => {
    fc.assert(
      fc.property(anyPicture(3), (pixels) => {
        const black = { ...pixels, channels: 1, data: new Uint8Array(pixels.width * pixels.height) };
        const white = { ...pixels, data: new Uint8Array(pixels.data.length).fill(255) };
        expect(blended(white, pixels, black).data).toEqual(pixels.data);
      }),
    );
  });
});
