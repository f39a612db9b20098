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
