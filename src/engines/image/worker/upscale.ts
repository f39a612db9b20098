import { readFile } from 'node:fs/promises';
import { AppError } from '../../../core/errors.ts';
import type { UpscaleRequest } from '../../../core/image.ts';
import { OnnxSession } from '../../onnx/session.ts';
import { checkedWeights, type WeightsFile, weights } from '../../weights.ts';
import { type NetworkScale, networkName, networkScales } from '../facts.ts';
import { readPicture, resized, type Size, writePng } from '../pictures/codec.ts';
import { channelOf, fromPlanes, type Pixels, toPlanes, withAlpha, withoutAlpha } from '../pictures/pixels.ts';
import type { Watched } from './draw.ts';

export type NetworkOf = (scale: NetworkScale) => Promise<UpscalingNetwork>;

/** Of what a request may ask for, and of what a network may make on the way to it. */
export const longestSide = 4096;

/** A picture that somebody sent, at the size that was asked for and with the transparency that it had. */
export async function upscaledPicture(
  { picture, upscaler, width, height }: UpscaleRequest,
  networkOf: NetworkOf,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const size = checkedSize({ width, height });
  const way = wayOf(upscaler);
  const pixels = await readPicture({ bytes: picture, field: 'image' });
  signal.throwIfAborted();
  if (way === 'nearest' || way === 'lanczos3') return writePng(await resized(pixels, size, way));
  const colours = pixels.channels === 4 ? withoutAlpha(pixels) : pixels;
  const larger = await larged(colours, size, await networkOf(way), signal);
  if (pixels.channels !== 4) return writePng(larger);
  return writePng(withAlpha(larger, await resized(channelOf(pixels, 3), size)));
}

/** Throws for what is beyond all bounds. */
export function checkedSize({ width, height }: Size): Size {
  for (const [field, value] of Object.entries({ width, height })) {
    if (!Number.isInteger(value) || value < 1 || value > longestSide) {
      throw new AppError('invalid-field', { field, expected: `a whole number from 1 to ${longestSide}` });
    }
  }
  return { width, height };
}

/** By a network of its scale, and from there to exactly the size. What is not to become larger needs no network. */
async function larged(pixels: Pixels, size: Size, network: UpscalingNetwork, signal: AbortSignal): Promise<Pixels> {
  if (size.width <= pixels.width && size.height <= pixels.height) return resized(pixels, size);
  const most = longestSide / network.scale;
  const shrink = Math.min(1, most / pixels.width, most / pixels.height);
  const start = await resized(pixels, {
    width: Math.max(1, Math.round(pixels.width * shrink)),
    height: Math.max(1, Math.round(pixels.height * shrink)),
  });
  return resized(await enlarged(start, network, signal), size);
}

function wayOf(upscaler: string): NetworkScale | 'nearest' | 'lanczos3' {
  const asked = upscaler.trim().toLowerCase();
  if (asked === '' || asked === 'none' || asked === 'lanczos') return 'lanczos3';
  if (asked === 'nearest') return 'nearest';
  const scale = networkScales.find((one) => networkName(one).toLowerCase() === asked);
  if (scale !== undefined) return scale;
  const names = ['None', 'Nearest', 'Lanczos', ...networkScales.map(networkName)];
  throw new AppError('invalid-field', { field: 'upscaler', expected: `one of ${names.join(', ')}` });
}

const files: Readonly<Record<NetworkScale, WeightsFile>> = {
  2: weights.upscaler2,
  3: weights.upscaler3,
  4: weights.upscaler4,
  8: weights.upscaler8,
};

/** Each is loaded at its first use, and stays. */
export class UpscalingNetworks {
  readonly #opened = new Map<NetworkScale, Promise<OnnxSession>>();

  constructor(private readonly threads: number) {}

  watchedBy(watched: Watched): NetworkOf {
    return async (scale) => {
      const session = await this.#session(scale);
      return {
        scale,
        run: async (planes, { width, height }, signal) => {
          const inputs = { [pictureInput]: { data: planes, shape: [1, 3, height, width] } };
          const larger = (await watched(() => session.run(inputs, signal)))[pictureOutput];
          if (!larger) throw new Error('the upscaler gave nothing');
          return larger.data;
        },
      };
    };
  }

  async close(): Promise<void> {
    for (const session of await Promise.allSettled(this.#opened.values())) {
      if (session.status === 'fulfilled') session.value.release();
    }
  }

  #session(scale: NetworkScale): Promise<OnnxSession> {
    const found = this.#opened.get(scale);
    if (found) return found;
    const opening = open(scale, this.threads);
    this.#opened.set(scale, opening);
    // What failed once may be there the next time.
    opening.catch(() => this.#opened.delete(scale));
    return opening;
  }
}

async function open(scale: NetworkScale, threads: number): Promise<OnnxSession> {
  return OnnxSession.open(await readFile(await checkedWeights(files[scale])), { threads });
}

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
