/** The tokens of the tag that starts the reasoning, and the single token that ends it. */
export interface ReasoningTags {
  readonly start: readonly number[];
  readonly end: number;
}

/**
 * Watches prompt and output for unclosed reasoning. After `budget` tokens of it, forces the tokens of a closing phrase one by one.
 * A start tag inside of reasoning does not reset the count: otherwise the model could reason without end.
 */
export class ReasoningBudget {
  /** How many tokens of the start tag the last tokens have matched. */
  #matched = 0;
  #thinking = false;
  #thought = 0;
  #closed = 0;

  /** `closing` ends with the end tag. */
  constructor(
    private readonly tags: ReasoningTags,
    private readonly budget: number,
    private readonly closing: readonly number[],
  ) {
    if (tags.start.length === 0) throw new RangeError('The tag that starts the reasoning has no tokens');
    if (closing.at(-1) !== tags.end) throw new RangeError('The closing phrase does not end with the end tag');
  }

  /** The token that must come next, regardless of the model. */
  get forced(): number | undefined {
    return this.#thinking && this.#thought >= this.budget ? this.closing[this.#closed] : undefined;
  }

  /** Takes the next token of the prompt or the output, forced ones included. */
  accept(token: number): void {
    if (!this.#thinking) {
      this.#lookForStart(token);
      return;
    }
    // A prompt beyond the budget has other tokens instead of the closing phrase.
    this.#closed = this.forced === token ? this.#closed + 1 : 0;
    this.#thought += 1;
    if (token === this.tags.end) this.reset();
  }

  /** Back to the initial state. After a rewind the remaining tokens are accepted again. */
  reset(): void {
    this.#thinking = false;
    this.#matched = 0;
    this.#thought = 0;
    this.#closed = 0;
  }

  #lookForStart(token: number): void {
    const { start } = this.tags;
    if (token !== start[this.#matched]) this.#matched = longestPrefix(start, this.#matched, token);
    else this.#matched += 1;
    if (this.#matched < start.length) return;
    this.#thinking = true;
    this.#matched = 0;
  }
}

/** The length of the longest prefix of the tag that still matches after `token` breaks a match of `matched` tokens. */
function longestPrefix(tag: readonly number[], matched: number, token: number): number {
  const seen = [...tag.slice(0, matched), token];
  for (let length = matched; length > 0; length -= 1) {
    if (seen.slice(-length).every((one, index) => one === tag[index])) return length;
  }
  return 0;
}
