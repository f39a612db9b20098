import type { LoadOptions } from '../../load-options.ts';

/** How long a step may take while others are writing: a pause that a reader of a stream hardly notices. */
export const targetStepMs = 80;
/** Attention over fewer rows takes another way through the library, with another rounding. */
export const smallestChunk = 64;

/** How much of a passage goes into a batch with this room, so that what is left of it is no smaller than that either. */
export function portionOf(passage: number, room: number): number {
  const rest = passage - room;
  if (rest <= 0) return passage;
  return rest < smallestChunk && room >= 2 * smallestChunk ? passage - smallestChunk : room;
}

/** The next share of a prompt beside running streams: towards the target, but never by more than a factor of two. */
export function nextChunk(chunk: number, stepMs: number, largest: number): number {
  const factor = Math.min(2, Math.max(0.5, targetStepMs / Math.max(1, stepMs)));
  return Math.min(largest, Math.max(smallestChunk, Math.round(chunk * factor)));
}

/**
 * The rounding of a token depends on which tokens were computed together with it. For a text that depends on nothing but its
 * request, these are always the same: a prompt goes in portions that end at multiples of one number (or before a picture),
 * its last portion is what is left, and everything behind the prompt goes token by token. Nobody else is in the batch.
 * What such a portion leaves in the memory serves every prompt that begins with the same whole portions; anything else
 * that was computed, the end of a prompt and the reply to it, is of no use to another request.
 */
interface PortionQuestion {
  readonly size: number;
  /** How many tokens are computed, how many are there, and how many of them are the prompt. */
  readonly computed: number;
  readonly length: number;
  readonly asked: number;
}

/** How many tokens the next batch takes. */
export function steadyPortion({ size, computed, length, asked }: PortionQuestion): number {
  if (computed >= asked) return Math.min(1, length - computed);
  return Math.min(borderUpTo(computed, size) + size, asked, length) - computed;
}

/** The last place up to here where a whole portion may have ended. */
export function borderUpTo(index: number, size: number): number {
  return index - (index % size);
}

/** The size of the portions, which a batch of the library must be able to hold; undefined where they may be any. */
export function portionSize(
  { deterministic, microBatchSize }: Pick<LoadOptions, 'deterministic' | 'microBatchSize'>,
  batchCapacity: number,
): number | undefined {
  return deterministic ? Math.min(smallestChunk, microBatchSize, batchCapacity) : undefined;
}

type NotedOptions = Pick<LoadOptions, 'deterministic' | 'draft' | 'smartCache' | 'diskCache'>;

/** What somebody who asked for the same text every time should know about the other options. */
export function steadyNotes(
  { deterministic, draft, smartCache, diskCache }: NotedOptions,
  { gpuLayers, savesAll }: { readonly gpuLayers: number; readonly savesAll: boolean },
): string[] {
  if (!deterministic) return [];
  return [
    ...(draft ? ['With --deterministic nothing is drafted: guesses would be computed in batches of their own.'] : []),
    ...(!savesAll && (smartCache > 0 || diskCache)
      ? ['With --deterministic texts of a model with a sliding window are not put aside: no smart or disk cache.']
      : []),
    ...(gpuLayers > 0 ? ['Whether --deterministic holds on a GPU has not been tried; without one it does.'] : []),
  ];
}
