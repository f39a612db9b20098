import type { ImageFacts } from '../../core/image.ts';
import { clamp } from '../fields/readers.ts';
import type { Size } from './pixels.ts';

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

/** The one that is meant, or else the first there is. */
export function usualUpscaler(asked: string | undefined, upscalers: ImageFacts['upscalers']): string | undefined {
  const named = upscalers.find(({ name }) => name.toLowerCase() === asked?.trim().toLowerCase());
  return (named ?? upscalers[0])?.name;
}
