import type { GenerationEvent } from './events.ts';

/** The beginning of a reply of which nothing is known, because nothing was begun. */
export function emptyStart(maxTokens: number, seed: number): GenerationEvent & { type: 'start' } {
  return { type: 'start', promptTokens: 0, cachedTokens: 0, maxTokens, seed };
}

/** The end of a reply that was stopped before it began. */
export const abortedUnstarted: GenerationEvent & { type: 'finish' } = {
  type: 'finish',
  reason: 'aborted',
  cause: 'aborted',
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
  timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 },
};
