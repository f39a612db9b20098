import type { LoadOptions } from '../../load-options.ts';
import { batching } from '../scheduling.ts';

const { minChunk } = batching;

/** How many tokens of a passage go into a batch with this room, such that the remainder is not below the minimum either. */
export function portionOf(passage: number, room: number): number {
  const rest = passage - room;
  if (rest <= 0) return passage;
  return rest < minChunk && room >= 2 * minChunk ? passage - minChunk : room;
}

/** Portion size, computed tokens, tokens of prompt and reply, tokens of the prompt. */
type PortionState = Readonly<Record<'size' | 'computed' | 'length' | 'promptLength', number>>;

/**
 * How many tokens the next batch has with `--deterministic`. The rounding of a token depends on the tokens in its batch, so these
 * are always the same: portions of a prompt end at multiples of `size` (or before a medium), the reply is computed token by token,
 * and no other request is in the batch. Whole portions can be reused by prompts that begin with them; nothing else can.
 */
export function steadyPortion({ size, computed, length, promptLength }: PortionState): number {
  if (computed >= promptLength) return Math.min(1, length - computed);
  return Math.min(borderUpTo(computed, size) + size, promptLength, length) - computed;
}

/** The last end of a whole portion up to here. */
export function borderUpTo(index: number, size: number): number {
  return index - (index % size);
}

/** The size of the portions; undefined without `--deterministic`. */
export function portionSize(
  { deterministic, microBatchSize }: Pick<LoadOptions, 'deterministic' | 'microBatchSize'>,
  batchCapacity: number,
): number | undefined {
  return deterministic ? Math.min(minChunk, microBatchSize, batchCapacity) : undefined;
}

type NotedOptions = Pick<LoadOptions, 'deterministic' | 'draft' | 'smartCache' | 'diskCache'>;

/** Notes about options that do not work with `--deterministic`. */
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
