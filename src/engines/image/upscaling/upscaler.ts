import type { Size } from '../pictures/codec.ts';
import { fromPlanes, type Pixels, toPlanes } from '../pictures/pixels.ts';

/** Makes colours in planes, from 0 to 1, larger by its scale. */
export interface UpscalingNetwork {
  readonly scale: number;
  run(planes: Float32Array, size: Size, signal: AbortSignal): Promise<Float32Array>;
}

/** The names of what goes in and comes out in the files of the networks. */
export const pictureInput = 'picture';
export const pictureOutput = 'larger';

/** As far around a pixel as matters for what the network makes of it. */
const margin = 10;
const side = 128;

/** By the network, tile by tile, so that its memory does not grow with the picture. Colours only. */
export async function enlarged(pixels: Pixels, network: UpscalingNetwork, signal: AbortSignal): Promise<Pixels> {
  const { scale } = network;
  const { width, height } = pixels;
  const larger = { width: width * scale, height: height * scale };
  const data = new Uint8Array(larger.width * larger.height * 3);
  for (const { read, keep } of tilesOf(width, height, { side, margin })) {
    signal.throwIfAborted();
    const planes = await network.run(toPlanes(cut(pixels, read), 0, 1), read, signal);
    const tile = fromPlanes(planes, { width: read.width * scale, height: read.height * scale }, 0, 1);
    const wanted = {
      left: (keep.left - read.left) * scale,
      top: (keep.top - read.top) * scale,
      width: keep.width * scale,
      height: keep.height * scale,
    };
    paste(cut(tile, wanted), data, larger.width, { left: keep.left * scale, top: keep.top * scale });
  }
  return { data, ...larger, channels: 3 };
}

/** Beyond its edges the picture goes on as it ends there: networks that find nothing draw a frame. */
function cut({ data, width, height, channels }: Pixels, box: Box): Pixels {
  const part = new Uint8Array(box.width * box.height * channels);
  for (let row = 0; row < box.height; row += 1) {
    const line = Math.min(height - 1, Math.max(0, box.top + row)) * width;
    for (let column = 0; column < box.width; column += 1) {
      const from = (line + Math.min(width - 1, Math.max(0, box.left + column))) * channels;
      const to = (row * box.width + column) * channels;
      for (let channel = 0; channel < channels; channel += 1) part[to + channel] = data[from + channel] as number;
    }
  }
  return { data: part, width: box.width, height: box.height, channels };
}

function paste(part: Pixels, into: Uint8Array, width: number, { left, top }: Pick<Box, 'left' | 'top'>): void {
  for (let row = 0; row < part.height; row += 1) {
    const own = part.data.subarray(row * part.width * 3, (row + 1) * part.width * 3);
    into.set(own, ((top + row) * width + left) * 3);
  }
}

/** A part of a picture that is computed by itself: what is read for it, and what of that is kept. */
interface Tile {
  readonly read: Box;
  readonly keep: Box;
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

interface Lengths {
  /** How long a tile is that is kept. */
  readonly side: number;
  /** What is read beyond it on every side, also where the picture has ended. */
  readonly margin: number;
}

/** Tiles that together keep every pixel of the picture exactly once. */
export function tilesOf(width: number, height: number, { side, margin }: Lengths): Tile[] {
  const columns = spans(width, side);
  return spans(height, side).flatMap(([top, bottom]) =>
    columns.map(([left, right]) => ({
      keep: { left, top, width: right - left, height: bottom - top },
      read: {
        left: left - margin,
        top: top - margin,
        width: right - left + 2 * margin,
        height: bottom - top + 2 * margin,
      },
    })),
  );
}

function spans(length: number, side: number): [number, number][] {
  return Array.from({ length: Math.ceil(length / side) }, (_, index) => [
    index * side,
    Math.min(length, (index + 1) * side),
  ]);
}
