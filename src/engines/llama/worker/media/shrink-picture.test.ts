import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fittingSize, shrinkPicture } from './shrink-picture.ts';

test.each([
  [{ width: 4000, height: 2000 }, 1024, { width: 1024, height: 512 }],
  [{ width: 300, height: 900 }, 600, { width: 200, height: 600 }],
  [{ width: 300, height: 200 }, 1024, { width: 300, height: 200 }],
  [{ width: 5000, height: 1 }, 500, { width: 500, height: 1 }],
])('%j within %i is %j', (size, side, expected) => expect(fittingSize(size, side)).toEqual(expected));

test('a new pixel is the mean of those that it stands for', () => {
  const pixels = Uint8Array.of(0, 10, 20, 100, 30, 40, 0, 10, 20, 100, 30, 40);
  expect([...shrinkPicture(pixels, { width: 2, height: 2 }, { width: 1, height: 1 })]).toEqual([50, 20, 30]);
});

test('of one colour it stays, whatever the sizes', () => {
  const side = fc.integer({ min: 1, max: 40 });
  fc.assert(
    fc.property(side, side, side, (width, height, longest) => {
      const to = fittingSize({ width, height }, longest);
      const pixels = new Uint8Array(width * height * 3).fill(77);
      const result = shrinkPicture(pixels, { width, height }, to);
      expect(result.length).toBe(to.width * to.height * 3);
      expect(result.every((value) => value === 77)).toBe(true);
    }),
  );
});
