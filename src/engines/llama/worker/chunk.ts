/** How long a step may take while others are writing: a pause that a reader of a stream hardly notices. */
export const targetStepMs = 80;
/** Attention over fewer rows takes another way through the library, with another rounding. */
export const smallestChunk = 64;

/** The next share of a prompt beside running streams: towards the target, but never by more than a factor of two. */
export function nextChunk(chunk: number, stepMs: number, largest: number): number {
  const factor = Math.min(2, Math.max(0.5, targetStepMs / Math.max(1, stepMs)));
  return Math.min(largest, Math.max(smallestChunk, Math.round(chunk * factor)));
}
