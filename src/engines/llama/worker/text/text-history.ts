/** What `TextHistory` reads: tokens of text, and negative ids where pictures and sounds stand. */
export interface TokenList {
  readonly tokens: Int32Array;
}

/**
 * The text behind which the next token is chosen. Pictures and sounds are no part of it: they cannot be repeated, and a
 * penalty for the last hundred tokens means a hundred tokens of text.
 */
export class TextHistory {
  /** Undefined where the prompt is text only: then nothing is copied. */
  readonly #text: Int32Array | undefined;
  readonly #textLength: number;

  /** `promptLength` entries are the prompt; what follows is the reply, which is all text. */
  constructor(
    private readonly list: TokenList,
    private readonly promptLength: number,
  ) {
    const prompt = list.tokens.subarray(0, promptLength);
    const text = prompt.filter((token) => token >= 0);
    this.#textLength = text.length;
    if (text.length === prompt.length) return;
    this.#text = new Int32Array(list.tokens.length);
    this.#text.set(text);
  }

  /** All text among the first `length` entries. */
  upTo(length: number): { readonly tokens: Int32Array; readonly length: number } {
    if (!this.#text) return { tokens: this.list.tokens, length };
    const reply = this.list.tokens.subarray(this.promptLength, length);
    this.#text.set(reply, this.#textLength);
    return { tokens: this.#text, length: this.#textLength + reply.length };
  }
}
