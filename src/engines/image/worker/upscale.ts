import { readFile } from 'node:fs/promises';
import { AppError } from '../../../core/errors.ts';
import type { UpscaleRequest } from '../../../core/image.ts';
import { OnnxSession } from '../../onnx/session.ts';
import { checkedWeights, type WeightsFile, weights } from '../../weights.ts';
import { type NetworkScale, networkName, networkScales } from '../facts.ts';
import { readPicture, resized, type Size, writePng } from '../pictures/codec.ts';
import { channelOf, type Pixels, withAlpha, withoutAlpha } from '../pictures/pixels.ts';
import { enlarged, pictureInput, pictureOutput, type UpscalingNetwork } from '../upscaling/upscaler.ts';
import type { Watched } from './sketch-network.ts';

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
