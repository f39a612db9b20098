import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tilesOf } from './tiles.ts';

const length = fc.integer({ min: 1, max: 70 });

test('tiles keep every pixel exactly once, whatever their size and that of the picture', () => {
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

test('each is read with its margin on every side', () => {
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

test('a picture that fits is one tile', () => {
  expect(tilesOf(5, 4, { side: 8, margin: 1 })).toEqual([
    { keep: { left: 0, top: 0, width: 5, height: 4 }, read: { left: -1, top: -1, width: 7, height: 6 } },
  ]);
});
