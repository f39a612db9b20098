import type { PictureSize } from './picture-header.ts';

/** The size with which the longer side is at most `longestSide`, in the same proportions. */
export function fittingSize({ width, height }: PictureSize, longestSide: number): PictureSize {
  const scale = Math.min(1, longestSide / Math.max(width, height));
  const scaled = (side: number) => Math.max(1, Math.round(side * scale));
  return { width: scaled(width), height: scaled(height) };
}

const channels = 3;

/** Scales rows of RGB pixels down; each new pixel is the mean of those that it stands for. */
export function shrinkPicture(pixels: Uint8Array, from: PictureSize, to: PictureSize): Uint8Array {
  const result = new Uint8Array(to.width * to.height * channels);
  let into = 0;
  for (let y = 0; y < to.height; y += 1) {
    const [top, bottom] = share(y, from.height, to.height);
    for (let x = 0; x < to.width; x += 1) {
      const [left, right] = share(x, from.width, to.width);
      let red = 0;
      let green = 0;
      let blue = 0;
      for (let row = top; row < bottom; row += 1) {
        const end = (row * from.width + right) * channels;
        for (let at = (row * from.width + left) * channels; at < end; at += channels) {
          red += pixels[at] as number;
          green += pixels[at + 1] as number;
          blue += pixels[at + 2] as number;
        }
      }
      const count = (bottom - top) * (right - left);
      result[into] = Math.round(red / count);
      result[into + 1] = Math.round(green / count);
      result[into + 2] = Math.round(blue / count);
      into += channels;
    }
  }
  return result;
}

/** The old pixels of which the new one at `index` is made: at least one. */
function share(index: number, old: number, fresh: number): readonly [from: number, to: number] {
  const from = Math.floor((index * old) / fresh);
  return [from, Math.max(from + 1, Math.floor(((index + 1) * old) / fresh))];
}
