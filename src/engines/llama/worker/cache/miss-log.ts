import type { CacheMiss } from '../../../../core/text-service.ts';
import { commonPrefix, isSameChat, type KeptText } from '../memory/reuse.ts';

const shownTokens = 12;
const remembered = 20;

/** Notes where prompts part from the cache; a line near the top that changes each turn is the usual reason. */
export class CacheMissLog {
  readonly #misses: CacheMiss[] = [];

  constructor(
    private readonly detokenize: (tokens: Int32Array) => string,
    private readonly now: () => number,
  ) {}

  get misses(): readonly CacheMiss[] {
    return [...this.#misses];
  }

  /**
   * `kept` is what the slot held before `wanted` was put there, and `reach` tells how much of a common beginning can stay.
   * A text that simply goes on is no miss, and neither is one that has nothing to do with what was kept.
   */
  look(kept: KeptText, wanted: Int32Array, reach: (common: number) => number): CacheMiss | undefined {
    const { cached } = kept;
    const partedAt = commonPrefix(cached, wanted);
    if (partedAt >= cached.length - 1 || partedAt >= wanted.length - 1) return undefined;
    if (!isSameChat(kept, wanted, partedAt)) return undefined;
    const miss: CacheMiss = {
      time: this.now(),
      partedAt,
      promptTokens: wanted.length,
      reusedTokens: reach(partedAt),
      before: this.#show(wanted, partedAt - shownTokens, partedAt),
      kept: this.#show(cached, partedAt, partedAt + shownTokens),
      wanted: this.#show(wanted, partedAt, partedAt + shownTokens),
    };
    this.#misses.push(miss);
    if (this.#misses.length > remembered) this.#misses.shift();
    return miss;
  }

  #show(tokens: Int32Array, from: number, to: number): string {
    return this.detokenize(tokens.subarray(Math.max(0, from), Math.max(0, to)).filter((token) => token >= 0));
  }
}
