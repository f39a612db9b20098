export interface ReasoningTags {
  /** The tokens of the tag that begins the thinking. */
  readonly start: readonly number[];
  /** The one token that ends it. */
  readonly end: number;
}

/**
 * Watches the tokens of prompt and output for thinking that is not closed, and once it has lasted for `budget` tokens
 * hands out the tokens of a closing phrase one by one. Tags that come again while the thinking goes on do not start the
 * count anew: the model could think for ever.
 */
export class ReasoningBudget {
  readonly #tags: ReasoningTags;
  readonly #budget: number;
  readonly #closing: readonly number[];
  /** How many tokens of the start tag the last tokens have matched. */
  #matched = 0;
  #thinking = false;
  #thought = 0;
  #closed = 0;

  /** `closing` ends with the end tag. */
  constructor(tags: ReasoningTags, budget: number, closing: readonly number[]) {
    if (tags.start.length === 0) throw new RangeError('The tag that starts the thinking has no tokens');
    if (closing.at(-1) !== tags.end) throw new RangeError('The closing phrase does not end with the end tag');
    this.#tags = tags;
    this.#budget = budget;
    this.#closing = closing;
  }

  /** The token that must come next, whatever the model would say. */
  get forced(): number | undefined {
    return this.#thinking && this.#thought >= this.#budget ? this.#closing[this.#closed] : undefined;
  }

  /** Takes the next token of the prompt or the output, forced ones included. */
  accept(token: number): void {
    if (!this.#thinking) {
      this.#lookForStart(token);
      return;
    }
    // In a prompt that is past the budget already, other tokens come where the closing phrase would.
    this.#closed = this.forced === token ? this.#closed + 1 : 0;
    this.#thought += 1;
    if (token === this.#tags.end) this.reset();
  }

  /** As new: after tokens were taken back, what is left is to be fed again. */
  reset(): void {
    this.#thinking = false;
    this.#matched = 0;
    this.#thought = 0;
    this.#closed = 0;
  }

  #lookForStart(token: number): void {
    const { start } = this.#tags;
    if (token !== start[this.#matched]) this.#matched = longestBeginning(start, this.#matched, token);
    else this.#matched += 1;
    if (this.#matched < start.length) return;
    this.#thinking = true;
    this.#matched = 0;
  }
}

/** The longest beginning of the tag that is left when `token` breaks a match of `matched` tokens. */
function longestBeginning(tag: readonly number[], matched: number, token: number): number {
  const seen = [...tag.slice(0, matched), token];
  for (let length = matched; length > 0; length -= 1) {
    if (seen.slice(-length).every((one, index) => one === tag[index])) return length;
  }
  return 0;
}
