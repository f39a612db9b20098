import type { ImageFacts } from '../../core/image.ts';
import type { Size } from '../../core/pictures.ts';
import { clamp } from '../fields/readers.ts';

export interface Enlarging {
  readonly upscaler: string;
  readonly size: Size;
}

const longestSide = 8192;

/** Whole pixels within what anybody would have in memory. */
export function enlargedSize({ width, height }: Size): Size {
  return { width: Math.round(clamp(width, 1, longestSide)), height: Math.round(clamp(height, 1, longestSide)) };
}

export function isTooLarge({ width, height }: Size): boolean {
  return width > longestSide || height > longestSide;
}

/** Plain ways to change a size, which add nothing to a picture. */
const plainWays: ReadonlySet<string> = new Set(['none', 'nearest', 'lanczos']);

export type Upscaler = ImageFacts['upscalers'][number];

export function isPlainWay(name: string): boolean {
  return plainWays.has(name.trim().toLowerCase());
}

/** Those that see more in a picture than it has. */
export function networksOf({ upscalers }: Pick<ImageFacts, 'upscalers'>): readonly Upscaler[] {
  return upscalers.filter(({ name }) => !isPlainWay(name));
}

/**
 * The one that is meant by its name, or else the network whose factor is just large enough. Undefined where there is none; a
 * plain way that the engine does not have is `None`.
 */
export function usualUpscaler(
  asked: string | undefined,
  facts: Pick<ImageFacts, 'upscalers'>,
  factor: number,
): Upscaler | undefined {
  const named = facts.upscalers.find(({ name }) => name.toLowerCase() === asked?.trim().toLowerCase());
  if (named) return named;
  if (asked && isPlainWay(asked)) return { name: 'None', scale: 1 };
  const networks = [...networksOf(facts)].sort((one, other) => one.scale - other.scale);
  return networks.find(({ scale }) => scale >= factor) ?? networks.at(-1);
}
