/** Reads what stands inside one block of calls, and reports to a writer. */
export interface Body {
  /** In the middle of arguments, where the end tag of the block would be part of a text. */
  readonly insideArguments: boolean;
  push(text: string): void;
  /** For text inside arguments: gives back what comes after them. */
  pushArguments(text: string): string;
  /** The block is over, or `cut` off in its middle; gives back what did not become a call. */
  end(cut: boolean): { readonly calls: number; readonly leftover: string };
}
