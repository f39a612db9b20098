import { type DryBreakers, tokensAfterBreaker } from './dry-breakers.ts';

export interface DrySettings {
  readonly multiplier: number;
  readonly base: number;
  readonly allowedLength: number;
  /** 0 or less looks at the whole context. */
  readonly range: number;
}

/** The natural logarithm of the largest float: no power may pass it. */
const largestExponent = 88.7228391;

/**
 * Into `lengths[i]` goes how many tokens the text that ends `i` tokens before its end has in common, from the end
 * backwards, with the whole text of the last `count` tokens. This is the Z-function of the reversed text: `left` and
 * `right` bound the match that reaches farthest, and what lies inside it is known already. Takes linear time.
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

/** Makes tokens less likely that would go on with a passage which stands in the text already, the more the longer it is. */
export class Dry {
  readonly #settings: DrySettings;
  readonly #range: number;
  readonly #breakers: DryBreakers | undefined;
  readonly #maximumPower: number;
  readonly #lengths: Int32Array;
  /** The longest repetition that each token would go on with, plus 1; all 0 between calls. */
  readonly #longest: Int32Array;
  readonly active: boolean;

  constructor(settings: DrySettings, contextSize: number, vocabularySize: number, breakers?: DryBreakers) {
    const { multiplier, base, range } = settings;
    this.#settings = settings;
    this.#breakers = breakers;
    this.active = multiplier > 0 && base > 0;
    this.#range = range > 0 ? Math.min(range, contextSize) : contextSize;
    this.#maximumPower = base > 1.000001 ? Math.floor(largestExponent / Math.log(base)) : Infinity;
    this.#lengths = new Int32Array(this.active ? this.#range : 0);
    this.#longest = new Int32Array(this.active ? vocabularySize : 0);
  }

  /** Changes the logits of the whole vocabulary; `history` counts up to `length`. */
  penalise(vocabulary: Float32Array, history: Int32Array, length: number): void {
    if (!this.active) return;
    const { multiplier, base, allowedLength } = this.#settings;
    const count = Math.min(this.#range, length);
    if (count <= allowedLength) return;
    const limit = this.#breakers ? tokensAfterBreaker(this.#breakers, history, length, count) : count;
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
      const power = Math.min(this.#maximumPower, common - allowedLength);
      vocabulary[next] = (vocabulary[next] as number) - multiplier * base ** power;
    }
  }
}
