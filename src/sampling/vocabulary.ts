/** What turning strings into tokens to forbid or to look for needs of a model. */
export interface Vocabulary {
  readonly size: number;
  /** The text of a token, special ones included; empty where it is only a part of a character. */
  piece(token: number): string;
  /** Without a token for the beginning, and without reading special tokens out of the text. */
  tokenize(text: string): ArrayLike<number>;
}
