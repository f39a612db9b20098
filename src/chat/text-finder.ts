/** How many times a text may be walked through in all. */
const mostWalks = 32;

/**
 * Looks for one text after the other in a long one, in a time that grows with the long one alone. Each is looked for behind
 * the one before it first, as they mostly stand in order. A search that has cost too much gives up: then nothing is found.
 */
export class TextFinder {
  readonly #text: string;
  #behind = 0;
  #left: number;

  constructor(text: string) {
    this.#text = text;
    this.#left = mostWalks * text.length;
  }

  has(wanted: string): boolean {
    return this.#from(this.#behind, wanted) || this.#from(0, wanted);
  }

  /** How many characters may still be walked over. */
  get left(): number {
    return this.#left;
  }

  #from(start: number, wanted: string): boolean {
    if (this.#left < 0) return false;
    const place = this.#text.indexOf(wanted, start);
    this.#left -= (place === -1 ? this.#text.length : place + wanted.length) - start;
    if (place === -1) return false;
    this.#behind = place + wanted.length;
    return true;
  }
}
