import { foldCase } from './fold-case.ts';

export type BanStep =
  /** The text of the output tokens from `start` up to but not including `end` may be shown; often of none. */
  | { readonly type: 'release'; readonly start: number; readonly end: number; readonly text: string }
  /** Go back to this output position and choose again; `token` is forbidden there from now on. */
  | { readonly type: 'rewind'; readonly position: number; readonly token: number };

interface HeldToken {
  readonly token: number;
  readonly text: string;
  readonly folded: string;
}

/**
 * Holds the output back by some tokens and takes banned phrases back before anybody sees them. A token stays held, past
 * the delay too, while a phrase may have begun in it: a phrase spelled in unusually many tokens does not slip through.
 */
export class PhraseBans {
  readonly #phrases: readonly string[];
  readonly #longest: number;
  readonly #delay: number;
  readonly #held: HeldToken[] = [];
  readonly #forbidden = new Map<number, number[]>();
  #released = 0;
  /** The end of the text that was shown: after a rewind a phrase may begin in it, and it cannot be taken back. */
  #tail = '';

  constructor(phrases: readonly string[], delay: number) {
    this.#phrases = phrases.map(foldCase).filter((phrase) => phrase !== '');
    this.#longest = Math.max(0, ...this.#phrases.map(({ length }) => length));
    this.#delay = delay;
  }

  /** What cannot be chosen as the next token. */
  get forbidden(): readonly number[] {
    return this.#forbidden.get(this.#released + this.#held.length) ?? [];
  }

  /** Takes the next output token. `text` is what it adds: empty where its bytes are only the beginning of a character. */
  accept(token: number, text: string): BanStep {
    this.#held.push({ token, text, folded: foldCase(text) });
    const joined = this.#held.map(({ folded }) => folded).join('');
    const whole = this.#tail + joined;
    const starts = this.#phrases
      .map((phrase) => whole.indexOf(phrase, Math.max(0, this.#tail.length - phrase.length + 1)))
      .filter((start) => start >= 0);
    // What begins in the shown text is broken off at the first token that was not shown.
    if (starts.length > 0) return this.#rewind(Math.max(0, Math.min(...starts) - this.#tail.length));
    return this.#release(this.#releasable(joined));
  }

  /** Releases the rest, at the end of the text. */
  flush(): BanStep {
    return this.#release(this.#held.length);
  }

  #rewind(start: number): BanStep {
    const index = this.#tokenAt(start);
    const { token } = this.#held[index] as HeldToken;
    const position = this.#released + index;
    this.#held.length = index;
    // Later bans were made for a text that is gone.
    for (const banned of this.#forbidden.keys()) if (banned > position) this.#forbidden.delete(banned);
    this.#forbidden.set(position, [...(this.#forbidden.get(position) ?? []), token]);
    return { type: 'rewind', position, token };
  }

  /** The held token in which the folded text at `start` begins. */
  #tokenAt(start: number): number {
    let offset = 0;
    let index = 0;
    for (; index < this.#held.length - 1; index += 1) {
      const end = offset + (this.#held[index] as HeldToken).folded.length;
      if (end > start) break;
      offset = end;
    }
    const { text } = this.#held[index] as HeldToken;
    // A character of several bytes shows in the token that completes it, but begins in the silent ones before.
    const spansTokens = start === offset && text.charCodeAt(0) > 0x7f;
    while (spansTokens && index > 0 && this.#held[index - 1]?.text === '') index -= 1;
    return index;
  }

  /** How many of the held tokens are past the delay and cannot be the beginning of a phrase. */
  #releasable(joined: string): number {
    const due = this.#held.length - this.#delay;
    let offset = 0;
    for (let index = 0; index < due; index += 1) {
      const end = offset + (this.#held[index] as HeldToken).folded.length;
      for (; offset < end; offset += 1) {
        const rest = joined.slice(offset);
        if (this.#phrases.some((phrase) => phrase.length > rest.length && phrase.startsWith(rest))) return index;
      }
    }
    return Math.max(0, due);
  }

  #release(count: number): BanStep {
    const start = this.#released;
    const shown = this.#held.splice(0, count);
    const text = shown.map((held) => held.text).join('');
    const folded = this.#tail + shown.map((held) => held.folded).join('');
    this.#tail = folded.slice(Math.max(0, folded.length - this.#longest + 1));
    this.#released += count;
    for (let position = start; position < this.#released; position += 1) this.#forbidden.delete(position);
    return { type: 'release', start, end: this.#released, text };
  }
}
