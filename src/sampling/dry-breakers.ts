import type { Vocabulary } from './vocabulary.ts';

const maximumCount = 128;
const maximumBytes = 40;
const maximumTail = 20;

/**
 * The token patterns that end a repetition: a head, and the tokens that must follow it (none where the head holds the
 * whole breaker). Depends only on the strings and the vocabulary, so one result serves every request that has them.
 */
export interface DryBreakers {
  /** 1 for each token of the vocabulary that begins a pattern. */
  readonly heads: Uint8Array;
  readonly tails: ReadonlyMap<number, readonly Int32Array[]>;
}

/** Strings past the first 128 are left out; each is cut to 40 bytes. */
export function dryBreakers(strings: readonly string[], vocabulary: Vocabulary): DryBreakers {
  const heads = new Uint8Array(vocabulary.size);
  const tails = new Map<number, Int32Array[]>();
  const rests = new Map<string, Int32Array>();
  const tailOf = (rest: string): Int32Array => {
    const known = rests.get(rest);
    if (known !== undefined) return known;
    const tail = rest === '' ? new Int32Array() : Int32Array.from(vocabulary.tokenize(rest)).slice(0, maximumTail);
    rests.set(rest, tail);
    return tail;
  };
  const breakers = new Set(strings.slice(0, maximumCount).map(cutToBytes));
  breakers.delete('');
  for (const breaker of breakers) {
    const wholeOnly = !/[\0-\x7f]/.test(breaker);
    for (let token = 0; token < vocabulary.size; token += 1) {
      for (const rest of restsAfter(vocabulary.piece(token), breaker, wholeOnly)) {
        const tail = tailOf(rest);
        const known = tails.get(token);
        if (known === undefined) tails.set(token, [tail]);
        else if (!known.includes(tail)) known.push(tail);
        heads[token] = 1;
      }
    }
  }
  return { heads, tails };
}

/** What of the breaker is still to come after the piece, for each way in which the piece begins it. */
function restsAfter(piece: string, breaker: string, wholeOnly: boolean): readonly string[] {
  if (piece.includes(breaker)) return [''];
  if (wholeOnly) return [];
  const rests: string[] = [];
  for (let length = Math.min(piece.length, breaker.length - 1); length > 0; length -= 1) {
    if (piece.endsWith(breaker.slice(0, length))) rests.push(breaker.slice(length));
  }
  return rests;
}

function cutToBytes(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maximumBytes) return text;
  let end = maximumBytes;
  // Never in the middle of a character: its later bytes all begin with the bits 10.
  while (((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** How many tokens follow the nearest breaker in the last `count` of the history; all of them where there is none. */
export function tokensAfterBreaker(
  { heads, tails }: DryBreakers,
  history: Int32Array,
  length: number,
  count: number,
): number {
  for (let after = 0; after < count; after += 1) {
    const place = length - 1 - after;
    const token = history[place] as number;
    if (heads[token] !== 1) continue;
    let longest = -1;
    for (const tail of tails.get(token) ?? []) {
      if (tail.length > longest && tail.length <= after && follows(tail, history, place + 1)) longest = tail.length;
    }
    if (longest >= 0) return after - longest;
  }
  return count;
}

function follows(tail: Int32Array, history: Int32Array, start: number): boolean {
  for (let index = 0; index < tail.length; index += 1) {
    if (tail[index] !== history[start + index]) return false;
  }
  return true;
}
