import type { ImageFacts } from '../../core/image.ts';
import type { Size } from '../../core/pictures.ts';
import { clamp } from '../fields/readers.ts';

export interface SizeLimits {
  /** `--sdclamped`: longest side; 0 for no limit. */
  readonly longestSide: number;
  /** `--sdclampedsoft`: side of a square with the largest area; 0 for the default of the model. */
  readonly areaSide: number;
}

const shortest = 64;
const longest = 8192;

/** The size to draw: within the limits, a multiple of the model's step, and as near as possible to the requested aspect ratio. */
export function drawnSize(asked: Size, limits: SizeLimits, facts: Pick<ImageFacts, 'nativeSize'>): Size {
  const step = sizeStep(facts);
  const [width, height] = [clamp(asked.width, shortest, longest), clamp(asked.height, shortest, longest)];
  const side = limits.longestSide > 0 ? Math.max(shortest, limits.longestSide) : longest;
  const area = areaLimit(limits, facts);
  const scale = Math.min(1, side / Math.max(width, height), Math.sqrt(area / (width * height)));
  if (scale === 1) return { width: floorTo(width, step), height: floorTo(height, step) };
  const fits = (size: Size): boolean => Math.max(size.width, size.height) <= side && size.width * size.height <= area;
  const candidates = nearby(width * scale, step).flatMap((near) =>
    nearby(height * scale, step).map((other) => ({ width: near, height: other })),
  );
  const distance = (size: Size): number => Math.abs(Math.log(size.width / size.height / (width / height)));
  const [best] = candidates.filter(fits).sort((a, b) => distance(a) - distance(b) || b.width - a.width);
  return best ?? squeezed({ width: width * scale, height: height * scale }, { step, side, area });
}

/** Large models need sizes that can be halved several times. */
function sizeStep({ nativeSize }: Pick<ImageFacts, 'nativeSize'>): number {
  return nativeSize >= 512 ? 64 : 8;
}

function areaLimit({ areaSide }: SizeLimits, { nativeSize }: Pick<ImageFacts, 'nativeSize'>): number {
  const usual = nativeSize >= 512 && nativeSize <= 768 ? 832 : 1024;
  return (areaSide > 0 ? clamp(areaSide, shortest, 2048) : usual) ** 2;
}

/** For extreme aspect ratios, whose shorter side has its minimum. */
function squeezed(size: Size, { step, side, area }: { step: number; side: number; area: number }): Size {
  const short = floorTo(Math.min(size.width, size.height), step);
  const long = floorTo(Math.min(Math.max(size.width, size.height), side, area / short), step);
  return size.width >= size.height ? { width: long, height: short } : { width: short, height: long };
}

function nearby(value: number, step: number): readonly number[] {
  return [...new Set([floorTo(value, step), floorTo(value + step, step)])];
}

function floorTo(value: number, step: number): number {
  return Math.max(shortest, Math.floor(value / step) * step);
}
