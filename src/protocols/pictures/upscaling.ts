import type { ImageFacts } from '../../core/image.ts';
import type { Size } from '../../core/pictures.ts';
import { clamp } from '../fields.ts';

const longestSide = 8192;

/** Rounded, and limited to the largest side. */
export function enlargedSize({ width, height }: Size): Size {
  return { width: Math.round(clamp(width, 1, longestSide)), height: Math.round(clamp(height, 1, longestSide)) };
}

export function isTooLarge({ width, height }: Size): boolean {
  return width > longestSide || height > longestSide;
}

/** Resampling methods, which need no network. */
const resamplers: ReadonlySet<string> = new Set(['none', 'nearest', 'lanczos']);

type Upscaler = ImageFacts['upscalers'][number];

export function isResampler(name: string): boolean {
  return resamplers.has(name.trim().toLowerCase());
}

/** The upscalers that are networks. */
export function networksOf({ upscalers }: Pick<ImageFacts, 'upscalers'>): readonly Upscaler[] {
  return upscalers.filter(({ name }) => !isResampler(name));
}

/**
 * The upscaler of this name, or else the network with the smallest factor that is large enough. Undefined if there is none;
 * `None` for a resampler that the engine does not have.
 */
export function chooseUpscaler(
  asked: string | undefined,
  facts: Pick<ImageFacts, 'upscalers'>,
  factor: number,
): Upscaler | undefined {
  const named = facts.upscalers.find(({ name }) => name.toLowerCase() === asked?.trim().toLowerCase());
  if (named) return named;
  if (asked && isResampler(asked)) return { name: 'None', scale: 1 };
  const networks = [...networksOf(facts)].sort((one, other) => one.scale - other.scale);
  return networks.find(({ scale }) => scale >= factor) ?? networks.at(-1);
}
