export interface ReuseQuestion {
  /** The tokens whose keys and values are in the cache. */
  readonly cached: Int32Array;
  readonly wanted: Int32Array;
  readonly contextSize: number;
  readonly maxTokens: number;
  readonly canShift: boolean;
}

export interface Reuse {
  /** Taken out of the cache first, what follows moves down: a chat that dropped its oldest turns. */
  readonly shift: { readonly from: number; readonly count: number } | undefined;
  /** Tokens at the beginning of `wanted` that need no computing. */
  readonly keep: number;
}

const worthReusing = 4;
const nothing: Reuse = { shift: undefined, keep: 0 };

/**
 * What of the cache serves the new prompt; how much of that a memory can go back to is the slot's business. At least one
 * token is always left to compute: it gives the first logits.
 */
export function planReuse(question: ReuseQuestion): Reuse {
  const { cached, wanted, canShift } = question;
  const common = commonPrefix(cached, wanted);
  const shifted = canShift ? planShift(question, common) : undefined;
  if (shifted) return shifted;
  const keep = Math.min(common, wanted.length - 1);
  return keep < worthReusing ? nothing : { shift: undefined, keep };
}

/**
 * A shift pays when the new prompt goes on, right where the two part, with a long passage that stands further back in
 * the cache. Only an exact match counts, and only a long one: a shifted cache has seen the text that was taken out.
 */
function planShift({ cached, wanted, contextSize, maxTokens }: ReuseQuestion, common: number): Reuse | undefined {
  const fresh = wanted.length - common;
  const shortfall = 200 + Math.min(contextSize / 30, 140);
  if (fresh < shortfall) return undefined;
  const slack = 60 + Math.min(contextSize / 60, 70);
  const needed = Math.max(Math.min(fresh - (maxTokens + slack), 0.45 * contextSize), shortfall - slack);
  const { start, length } = longestContinuation(cached.subarray(common), wanted.subarray(common));
  if (start === 0 || length <= needed) return undefined;
  return { shift: { from: common, count: start }, keep: Math.min(common + length, wanted.length - 1) };
}

export function commonPrefix(a: Int32Array, b: Int32Array): number {
  const end = Math.min(a.length, b.length);
  let index = 0;
  while (index < end && a[index] === b[index]) index += 1;
  return index;
}

/** Where in `old` the longest beginning of `next` stands (Z-function over next + old: linear time). */
export function longestContinuation(old: Int32Array, next: Int32Array): { start: number; length: number } {
  const joined = new Int32Array(next.length + 1 + old.length);
  joined.set(next);
  joined[next.length] = -1;
  joined.set(old, next.length + 1);
  const matches = new Int32Array(joined.length);
  let best = { start: 0, length: 0 };
  for (let index = 1, left = 0, right = 0; index < joined.length; index += 1) {
    let length = index < right ? Math.min(right - index, matches[index - left] as number) : 0;
    while (index + length < joined.length && joined[length] === joined[index + length]) length += 1;
    matches[index] = length;
    if (index + length > right) {
      left = index;
      right = index + length;
    }
    if (index > next.length && length > best.length) best = { start: index - next.length - 1, length };
  }
  return best;
}
