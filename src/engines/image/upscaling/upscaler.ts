import type { Size } from '../pictures/codec.ts';
import { fromPlanes, type Pixels, toPlanes } from '../pictures/pixels.ts';
import { type Box, tilesOf } from './tiles.ts';

/** Makes colours in planes, from 0 to 1, larger by its scale. */
export interface UpscalingNetwork {
  readonly scale: number;
  run(planes: Float32Array, size: Size, signal: AbortSignal): Promise<Float32Array>;
}

/** As far as the network looks around a pixel in what it makes of it, nearly. */
const margin = 16;
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

function cut({ data, width, channels }: Pixels, box: Box): Pixels {
  const part = new Uint8Array(box.width * box.height * channels);
  for (let row = 0; row < box.height; row += 1) {
    const start = ((box.top + row) * width + box.left) * channels;
    part.set(data.subarray(start, start + box.width * channels), row * box.width * channels);
  }
  return { data: part, width: box.width, height: box.height, channels };
}

function paste(part: Pixels, into: Uint8Array, width: number, { left, top }: Pick<Box, 'left' | 'top'>): void {
  for (let row = 0; row < part.height; row += 1) {
    const own = part.data.subarray(row * part.width * 3, (row + 1) * part.width * 3);
    into.set(own, ((top + row) * width + left) * 3);
  }
}
