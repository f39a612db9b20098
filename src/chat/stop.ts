import { PhraseFinder, phraseTree } from '../patterns/phrase-finder.ts';

export interface StopStep {
  /** What may be shown now. */
  readonly text: string;
  /** The stop text that ended the reply. */
  readonly stop?: string;
}

/**
 * Ends a reply at the first stop text that is complete. With `trim` the stop text is cut off, so the end of the text is
 * held back while it could still become one; without it nothing is held back, and the stop text stays, with whatever
 * shared its piece.
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

  push(text: string): StopStep {
    if (this.#stop !== undefined) return { text: '', stop: this.#stop };
    if (this.#finder === undefined) return { text };
    const found = this.#finder.push(text);
    const shown = this.#trim ? found.text : text;
    if (found.match === undefined) return { text: shown };
    this.#stop = found.match.phrase;
    return { text: shown, stop: this.#stop };
  }

  /** For the end of the generation: releases what was held back. Empty after a stop. */
  flush(): string {
    const held = this.#finder?.flush() ?? '';
    return this.#trim ? held : '';
  }
}
