import { type MemoryOptions, type ModelShape, modelMemory } from './model-shape.ts';

interface Room {
  /** Free main memory, without the model. */
  readonly freeBytes: number;
  /** Free memory of the graphics cards that it may use, less what is left free there; 0 without cards. */
  readonly cardBytes: number;
  /** Files that are loaded with it. */
  readonly besideBytes: number;
}

/** Steps above the default, so that the size does not change with every byte that is free. */
const factors = [1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32];
/** What a longer context may take of the memory that is left beside the model. The rest is for cached chats and other programs. */
export interface ContextShares {
  readonly cards: number;
  readonly main: number;
}

export const defaultShares: ContextShares = { cards: 1 / 2, main: 1 / 4 };

/**
 * A context above the default where there is room for it, at most the trained one. The KV cache is allocated at once, and a model that
 * is only in part on cards would lose layers to it: it keeps the default.
 */
export function largestContext(
  shape: ModelShape,
  options: MemoryOptions,
  { freeBytes, cardBytes, besideBytes }: Room,
  max: number,
  shares = defaultShares,
): number {
  const { contextSize } = options;
  const trained = Math.min(shape.trainedContext, max);
  const sizes = [...factors.map((factor) => factor * contextSize).filter((size) => size < trained), trained];
  const bytesFor = (size: number): number => {
    const { weightBytes, cacheBytes, computeBytes } = modelMemory(shape, { ...options, contextSize: size });
    return weightBytes + cacheBytes + computeBytes + besideBytes;
  };
  const base = bytesFor(contextSize);
  const room = cardBytes > 0 ? (cardBytes - base) * shares.cards : (freeBytes - base) * shares.main;
  return sizes.findLast((size) => size > contextSize && bytesFor(size) - base <= room) ?? contextSize;
}
