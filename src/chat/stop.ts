import { PhraseFinder, phraseTree } from '../patterns/phrase-finder.ts';

/**
 * Ends a reply at the first complete stop text. With `trim` the stop text is cut off, so that text which could become one is
 * held back; without it nothing is held back, and the piece with the stop text stays.
 */
export class StopMatcher {
  readonly #finder: PhraseFinder | undefined;
  readonly #trim: boolean;
  #stop: string | undefined;

  constructor(stops: readonly string[], trim: boolean) {
    const usable = stops.filter((stop) => stop !== '');
    this.#finder = usable.length > 0 ? new PhraseFinder(phraseTree(usable)) : undefined;
    this.#trim = trim;
  }

  /** The text to emit, and the stop text that ended the reply. */
  push(text: string): { readonly text: string; readonly stop?: string } {
    if (this.#stop !== undefined) return { text: '', stop: this.#stop };
    if (this.#finder === undefined) return { text };
    const read = this.#finder.push(text);
    const visible = this.#trim ? read.text : text;
    if (read.match === undefined) return { text: visible };
    this.#stop = read.match.phrase;
    return { text: visible, stop: this.#stop };
  }

  /** At the end of the generation: the text that was held back. Empty after a stop. */
  flush(): string {
    const rest = this.#finder?.flush() ?? '';
    return this.#trim ? rest : '';
  }
}
