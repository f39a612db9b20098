import { readFile } from 'node:fs/promises';
import { AppError } from '../../../core/errors.ts';
import type { UpscaleRequest } from '../../../core/image.ts';
import { OnnxSession } from '../../onnx/session.ts';
import { checkedWeights, weights } from '../../weights.ts';
import {
  alphaOf,
  fromPlanes,
  type Pixels,
  readImage,
  resized,
  type Size,
  toPlanes,
  withAlpha,
  withoutAlpha,
  writePng,
} from '../codec.ts';
import { type NetworkScale, networkName, networkScales, pictureInput, pictureOutput } from '../facts.ts';
import { within } from './request.ts';

/** Runs work under a watchdog. */
export type Watched = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Enlarges colour planes, from 0 to 1, by its scale. */
export interface UpscalingNetwork {
  readonly scale: number;
  run(planes: Float32Array, size: Size, signal: AbortSignal): Promise<Float32Array>;
}

export type NetworkOf = (scale: NetworkScale) => Promise<UpscalingNetwork>;

/** Limit of the result, and of the output of a network. */
const maxSide = 4096;

/** Upscales with a built-in method. */
export async function upscaledImage(request: UpscaleRequest, networkOf: NetworkOf, signal: AbortSignal) {
  const size = checkedSize(request);
  const method = methodOf(request.upscaler);
  const pixels = await readImage({ bytes: request.image, field: 'image' });
  signal.throwIfAborted();
  if (typeof method === 'string') return writePng(await resized(pixels, size, method));
  const colours = await withoutAlpha(pixels);
  const network = await networkOf(method);
  // No network if nothing becomes larger.
  const isLarger = size.width > pixels.width || size.height > pixels.height;
  const larger = isLarger ? await enlarged(await fitting(colours, network.scale), network, signal) : colours;
  return sizedPng(larger, size, pixels);
}

/** Throws for a size out of range. */
export function checkedSize({ width, height }: Size): Size {
  within('width', width, maxSide);
  within('height', height, maxSide);
  return { width, height };
}

/** Shrinks an image if enlarging it by this scale would exceed the limit. */
export function fitting(pixels: Pixels, scale: number): Promise<Pixels> {
  const shrink = Math.min(1, maxSide / scale / Math.max(pixels.width, pixels.height));
  const scaled = (side: number): number => Math.max(1, Math.round(side * shrink));
  return resized(pixels, { width: scaled(pixels.width), height: scaled(pixels.height) });
}

/** Exactly this size, with the transparency of the original. */
export async function sizedPng(larger: Pixels, size: Size, original: Pixels): Promise<Uint8Array> {
  const sized = await resized(larger, size);
  if (original.channels !== 4) return writePng(sized);
  return writePng(await withAlpha(sized, await resized(await alphaOf(original), size)));
}

function methodOf(upscaler: string): NetworkScale | 'nearest' | 'lanczos3' {
  const method = upscaler.trim().toLowerCase();
  if (method === '' || method === 'none' || method === 'lanczos') return 'lanczos3';
  if (method === 'nearest') return 'nearest';
  const scale = networkScales.find((one) => networkName(one).toLowerCase() === method);
  if (scale !== undefined) return scale;
  const names = ['None', 'Nearest', 'Lanczos', ...networkScales.map(networkName)];
  throw new AppError('invalid-field', { field: 'upscaler', expected: `one of ${names.join(', ')}` });
}

/** Sessions of the networks, loaded on first use. */
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
    const cached = this.#opened.get(scale);
    if (cached) return cached;
    const opening = open(scale, this.threads);
    this.#opened.set(scale, opening);
    // Allows a retry.
    opening.catch(() => this.#opened.delete(scale));
    return opening;
  }
}

async function open(scale: NetworkScale, threads: number): Promise<OnnxSession> {
  return OnnxSession.open(await readFile(await checkedWeights(weights[`upscaler${scale}`])), { threads });
}

/** Receptive field of the networks around a pixel. */
const margin = 10;
const side = 128;

/** Runs the network tile by tile, so that its memory does not grow with the image. RGB only. */
export async function enlarged(pixels: Pixels, network: UpscalingNetwork, signal: AbortSignal): Promise<Pixels> {
  const { scale } = network;
  const [width, height] = [pixels.width * scale, pixels.height * scale];
  const data = new Uint8Array(width * height * 3);
  for (const { read, keep } of tilesOf(pixels.width, pixels.height, { side, margin })) {
    signal.throwIfAborted();
    const planes = await network.run(toPlanes(cut(pixels, read), 0, 1), read, signal);
    const tile = fromPlanes(planes, { width: read.width * scale, height: read.height * scale }, 0, 1);
    const [left, top] = [(keep.left - read.left) * scale, (keep.top - read.top) * scale];
    for (let row = 0; row < keep.height * scale; row += 1) {
      const from = ((top + row) * tile.width + left) * 3;
      const to = ((keep.top * scale + row) * width + keep.left * scale) * 3;
      data.set(tile.data.subarray(from, from + keep.width * scale * 3), to);
    }
  }
  return { data, width, height, channels: 3 };
}

/** Replicates the edges as padding: with empty padding the networks produce a frame. */
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

interface Box extends Size {
  readonly left: number;
  readonly top: number;
}

/** Tiles of this side, which together cover each pixel once, and what is read for each: the margin may lie outside. */
export function tilesOf(width: number, height: number, { side, margin }: { side: number; margin: number }) {
  const tiles: { readonly read: Box; readonly keep: Box }[] = [];
  for (let top = 0; top < height; top += side) {
    for (let left = 0; left < width; left += side) {
      const keep = { left, top, width: Math.min(side, width - left), height: Math.min(side, height - top) };
      const [across, down] = [keep.width + 2 * margin, keep.height + 2 * margin];
      tiles.push({ keep, read: { left: left - margin, top: top - margin, width: across, height: down } });
    }
  }
  return tiles;
}
