import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Pixels } from '../codec.ts';
import { repeating } from '../testing/repeating.ts';
import { enlarged, tilesOf, type UpscalingNetwork } from './upscale.ts';

const never = new AbortController().signal;

/** Each pixel tells its place. */
function map(width: number, height: number): Pixels {
  const data = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    data.set([pixel % width, Math.floor(pixel / width), (pixel * 7) % 256], pixel * 3);
  }
  return { data, width, height, channels: 3 };
}

describe('enlarged', () => {
  test.each([2, 3, 4])('scale %i: every pixel is at its position, also across tiles', async (scale) => {
    const small = map(200, 150);
    const large = await enlarged(small, repeating(scale), never);
    expect([large.width, large.height, large.channels]).toEqual([200 * scale, 150 * scale, 3]);
    for (const [x, y] of [
      [0, 0],
      [127, 127],
      [128, 127],
      [128, 128],
      [199, 149],
      [5, 140],
    ] as const) {
      const place = ((y * scale + scale - 1) * large.width + x * scale) * 3;
      expect([...large.data.subarray(place, place + 3)]).toEqual([x, y, ((y * 200 + x) * 7) % 256]);
    }
  });

  test('computes tiles of bounded size', async () => {
    const log: string[] = [];
    await enlarged(
      map(300, 20),
      repeating(2, (size) => log.push(size)),
      never,
    );
    expect(log).toEqual(['148×40', '148×40', '64×40']);
  });

  test('repeats the edge pixels beyond the picture', async () => {
    const seen: number[] = [];
    const network: UpscalingNetwork = {
      scale: 1,
      run: async (planes, { width }) => {
        seen.push(...[0, width - 1].map((place) => Math.round((planes[place] as number) * 255)));
        return planes;
      },
    };
    await enlarged({ data: Uint8Array.of(10, 0, 0, 200, 0, 0), width: 2, height: 1, channels: 3 }, network, never);
    expect(seen).toEqual([10, 200]);
  });

  test('stops on abort', async () => {
    const stop = new AbortController();
    const log: string[] = [];
    const { run } = repeating(2, (size) => log.push(size));
    const network: UpscalingNetwork = {
      scale: 2,
      run: async (planes, size, signal) => {
        stop.abort(new Error('gone'));
        return run(planes, size, signal);
      },
    };
    await expect(enlarged(map(300, 20), network, stop.signal)).rejects.toThrow('gone');
    expect(log.length).toBe(1);
  });
});

const length = fc.integer({ min: 1, max: 70 });

test('tilesOf: tiles cover every pixel exactly once for any size', () => {
  fc.assert(
    fc.property(length, length, fc.integer({ min: 1, max: 40 }), (width, height, side) => {
      const seen = new Uint8Array(width * height);
      for (const { keep } of tilesOf(width, height, { side, margin: 3 })) {
        expect(Math.max(keep.width, keep.height)).toBeLessThanOrEqual(side);
        for (let row = keep.top; row < keep.top + keep.height; row += 1) {
          for (let column = keep.left; column < keep.left + keep.width; column += 1) {
            const place = row * width + column;
            seen[place] = (seen[place] ?? 0) + 1;
          }
        }
      }
      expect(seen.every((times) => times === 1)).toBe(true);
    }),
  );
});

test('tilesOf: reads a margin on every side', () => {
  fc.assert(
    fc.property(length, length, fc.integer({ min: 0, max: 20 }), (width, height, margin) => {
      for (const { keep, read } of tilesOf(width, height, { side: 16, margin })) {
        expect(read).toEqual({
          left: keep.left - margin,
          top: keep.top - margin,
          width: keep.width + 2 * margin,
          height: keep.height + 2 * margin,
        });
      }
    }),
  );
});

test('tilesOf: a small picture is one tile', () => {
  expect(tilesOf(5, 4, { side: 8, margin: 1 })).toEqual([
    { keep: { left: 0, top: 0, width: 5, height: 4 }, read: { left: -1, top: -1, width: 7, height: 6 } },
  ]);
});
