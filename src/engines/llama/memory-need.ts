import type { ModelShape } from './load-options.ts';

/** What the library and our own process take beside weights and cache, roughly. */
const overheadBytes = 200 * 2 ** 20;

/**
 * About how much memory a model will take: its weights, the keys and values of all its sequences, and some more for
 * computing. What it really took the last time is better, where that is known.
 */
export function memoryNeed(
  { sizeBytes, cacheBytesPerToken }: Pick<ModelShape, 'sizeBytes' | 'cacheBytesPerToken'>,
  contextSize: number,
  sequences: number,
): number {
  const cache = cacheBytesPerToken * contextSize * Math.max(1, sequences);
  return Math.ceil(sizeBytes * 1.05 + cache + overheadBytes);
}
