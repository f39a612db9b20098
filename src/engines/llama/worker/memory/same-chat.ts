/** A text in the cache. */
export interface KeptText {
  readonly cached: Int32Array;
  /** How long the prompt was that it came from; what follows is the reply. */
  readonly asked: number;
}

/** So few tokens are computed again before anybody notices. */
const little = 32;
const nearlyAll = 0.9;
const passageLength = 24;

/**
 * Whether a prompt is the next of the chat that is kept, rather than another chat that begins alike, such as one with
 * the same system prompt. Of its own chat only the reply is lost (it is asked for again, or comes back without its
 * thoughts), or the last words; or a line near the top has changed, and a passage from further down is there again.
 */
export function isSameChat({ cached, asked }: KeptText, wanted: Int32Array, common: number): boolean {
  if (common === 0) return false;
  if (cached.length - common <= little) return true;
  const end = Math.min(asked, cached.length);
  if (common >= nearlyAll * end) return true;
  const start = common + Math.floor((end - common - passageLength) / 2);
  return start >= common && stands(cached.subarray(start, start + passageLength), wanted.subarray(common));
}

function stands(passage: Int32Array, text: Int32Array): boolean {
  const [first = -1] = passage;
  for (let at = text.indexOf(first); at !== -1; at = text.indexOf(first, at + 1)) {
    if (passage.every((token, index) => token === text[at + index])) return true;
  }
  return false;
}
