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
    const found = this.#finder.push(text);
    const shown = this.#trim ? found.text : text;
    if (found.match === undefined) return { text: shown };
    this.#stop = found.match.phrase;
    return { text: shown, stop: this.#stop };
  }

  /** At the end of the generation: the text that was held back. Empty after a stop. */
  flush(): string {
    const held = this.#finder?.flush() ?? '';
    return this.#trim ? held : '';
  }
}
