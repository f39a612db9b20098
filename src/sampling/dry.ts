import { cutToBytes, type Sampling } from '../core/sampling-fields.ts';
import { follow, type PhraseTree, phraseTree } from '../patterns/phrase-finder.ts';
import type { Vocabulary } from './bans.ts';

/** A range of 0 or less is the whole context. */
export type DrySettings = Pick<Sampling, 'dryMultiplier' | 'dryBase' | 'dryAllowedLength' | 'dryRange'>;

/** The natural logarithm of the largest 32-bit float: no penalty may exceed that. */
const maxExponent = 88.7228391;

/**
 * Sets `lengths[i]` to the length of the common suffix of the last `count` tokens and of the text without its last `i` tokens: the
 * Z-function of the reversed text, in linear time. `left` and `right` bound the match that reaches farthest.
 */
export function commonSuffixes(history: Int32Array, length: number, count: number, lengths: Int32Array): void {
  const last = length - 1;
  let left = 0;
  let right = 0;
  lengths[0] = count;
  for (let index = 1; index < count; index += 1) {
    let common = index < right ? Math.min(right - index, lengths[index - left] as number) : 0;
    while (index + common < count && history[last - common] === history[last - index - common]) common += 1;
    lengths[index] = common;
    if (index + common > right) {
      left = index;
      right = index + common;
    }
  }
}

/** Lowers tokens that would continue a repetition of an earlier passage, exponentially with the length of the repetition. */
export class Dry {
  readonly #range: number;
  readonly #maxPower: number;
  readonly #lengths: Int32Array;
  /** The longest repetition that each token would continue, plus 1; all 0 between calls. */
  readonly #longest: Int32Array;
  readonly active: boolean;

  constructor(
    private readonly settings: DrySettings,
    contextSize: number,
    vocabularySize: number,
    private readonly breakers?: DryBreakers,
  ) {
    const { dryMultiplier, dryBase, dryRange } = settings;
    this.active = dryMultiplier > 0 && dryBase > 0;
    this.#range = dryRange > 0 ? Math.min(dryRange, contextSize) : contextSize;
    this.#maxPower = dryBase > 1.000001 ? Math.floor(maxExponent / Math.log(dryBase)) : Infinity;
    this.#lengths = new Int32Array(this.active ? this.#range : 0);
    this.#longest = new Int32Array(this.active ? vocabularySize : 0);
  }

  /** Changes the logits of the whole vocabulary; `history` counts up to `length`. */
  penalise(vocabulary: Float32Array, history: Int32Array, length: number): void {
    if (!this.active) return;
    const { dryMultiplier: multiplier, dryBase: base, dryAllowedLength: allowedLength } = this.settings;
    const count = Math.min(this.#range, length);
    if (count <= allowedLength) return;
    const limit = this.breakers ? tokensAfterBreaker(this.breakers, history, length, count) : count;
    if (limit <= allowedLength) return;

    const lengths = this.#lengths;
    const longest = this.#longest;
    commonSuffixes(history, length, count, lengths);
    for (let index = 1; index < count; index += 1) {
      const common = Math.min(limit, lengths[index] as number);
      const next = history[length - index] as number;
      if (common >= allowedLength && common >= (longest[next] as number)) longest[next] = common + 1;
    }
    for (let index = 1; index < count; index += 1) {
      const next = history[length - index] as number;
      const common = (longest[next] as number) - 1;
      if (!(common >= 0)) continue;
      longest[next] = 0;
      const power = Math.min(this.#maxPower, common - allowedLength);
      vocabulary[next] = (vocabulary[next] as number) - multiplier * base ** power;
    }
  }
}

const maxBreakers = 128;
const maxBreakerBytes = 40;
const maxTail = 20;

/** Token patterns that end a repetition: a head, and the tokens that must follow it (none if the head has the whole breaker). */
export interface DryBreakers {
  /** 1 for each token of the vocabulary that begins a pattern. */
  readonly heads: Uint8Array;
  readonly tails: ReadonlyMap<number, readonly Int32Array[]>;
}

/** Strings past the first 128 are left out; each is cut to 40 bytes. */
export function dryBreakers(strings: readonly string[], vocabulary: Vocabulary): DryBreakers {
  const heads = new Uint8Array(vocabulary.size);
  const tails = new Map<number, Int32Array[]>();
  const known = new Map<string, Int32Array>([['', new Int32Array()]]);
  const tailOf = (rest: string): Int32Array => {
    const tail = known.get(rest) ?? Int32Array.from(vocabulary.tokenize(rest)).slice(0, maxTail);
    known.set(rest, tail);
    return tail;
  };
  const breakers = new Set(strings.slice(0, maxBreakers).map((text) => cutToBytes(text, maxBreakerBytes)));
  breakers.delete('');
  const beginnings = new BreakerTree(breakers);
  for (let token = 0; token < vocabulary.size; token += 1) {
    const rests = beginnings.restsAfter(vocabulary.piece(token));
    if (rests.size === 0) continue;
    tails.set(token, Array.from(rests, tailOf));
    heads[token] = 1;
  }
  return { heads, tails };
}

/** All breakers in one tree: each piece is read once, whatever their number. */
class BreakerTree {
  readonly #tree: PhraseTree;
  /** The breakers that continue after this path; only those with an ASCII character may be cut. */
  readonly #begun = new Map<PhraseTree, string[]>();
  readonly #whole = new Map<PhraseTree, string>();

  constructor(breakers: ReadonlySet<string>) {
    this.#tree = phraseTree([...breakers]);
    for (const breaker of breakers) this.#add(breaker, /[\0-\x7f]/.test(breaker));
  }

  #add(breaker: string, mayBeCut: boolean): void {
    let node = this.#tree;
    for (let index = 0; index < breaker.length; index += 1) {
      node = follow(this.#tree, node, breaker.charCodeAt(index));
      if (index === breaker.length - 1) this.#whole.set(node, breaker);
      else if (mayBeCut) this.#begun.set(node, [...(this.#begun.get(node) ?? []), breaker]);
    }
  }

  /** The rest of each breaker that begins at the end of the piece; '' for a breaker inside it. */
  restsAfter(piece: string): ReadonlySet<string> {
    const rests = new Set<string>();
    const held = new Set<string>();
    let node = this.#tree;
    for (let index = 0; index < piece.length; index += 1) {
      node = follow(this.#tree, node, piece.charCodeAt(index));
      for (let end: PhraseTree | undefined = node; end?.phrase !== undefined; end = end.fallback) {
        const breaker = this.#whole.get(end);
        if (breaker !== undefined) held.add(breaker);
      }
    }
    if (held.size > 0) rests.add('');
    for (let path: PhraseTree | undefined = node; path; path = path.fallback) {
      for (const breaker of this.#begun.get(path) ?? []) if (!held.has(breaker)) rests.add(breaker.slice(path.depth));
    }
    return rests;
  }
}

/** How many tokens follow the nearest breaker in the last `count` of the history; all of them without a breaker. */
export function tokensAfterBreaker({ heads, tails }: DryBreakers, history: Int32Array, length: number, count: number) {
  for (let after = 0; after < count; after += 1) {
    const index = length - 1 - after;
    const token = history[index] as number;
    if (heads[token] !== 1) continue;
    let longest = -1;
    for (const tail of tails.get(token) ?? []) {
      if (tail.length > longest && tail.length <= after && follows(tail, history, index + 1)) longest = tail.length;
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
