import type { CacheMiss } from '../../../../core/cache-report.ts';
import { commonPrefix } from '../reuse.ts';

const shownTokens = 12;
const remembered = 20;

/** Notes where prompts part from the cache; a line near the top that changes each turn is the usual reason. */
export class CacheDoctor {
  readonly #misses: CacheMiss[] = [];

  constructor(private readonly detokenize: (tokens: Int32Array) => string) {}

  get misses(): readonly CacheMiss[] {
    return [...this.#misses];
  }

  /**
   * `kept` is what the slot held before `wanted` was put there, and `reach` tells how much of a common beginning can stay.
   * A text that simply goes on is no miss.
   */
  look(kept: Int32Array, wanted: Int32Array, reach: (common: number) => number): void {
    const at = commonPrefix(kept, wanted);
    if (kept.length === 0 || at >= kept.length - 1 || at >= wanted.length - 1) return;
    this.#misses.push({
      promptTokens: wanted.length,
      reusedTokens: reach(at),
      before: this.#show(wanted, at - shownTokens, at),
      kept: this.#show(kept, at, at + shownTokens),
      wanted: this.#show(wanted, at, at + shownTokens),
    });
    if (this.#misses.length > remembered) this.#misses.shift();
  }

  #show(tokens: Int32Array, from: number, to: number): string {
    return this.detokenize(tokens.subarray(Math.max(0, from), Math.max(0, to)).filter((token) => token >= 0));
  }
}
