import type { Source } from '../../core/server-tools.ts';
import type { NumberedSource } from './citations.ts';

/** Text for the client, or a source that is cited right there by a mark that was taken out of it. */
export type MarkedPiece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'cited'; readonly source: Source; readonly fetched: boolean };

/** `[2]`, `[1, 3]`, with the space before it, and the beginnings of that. */
const wholeMark = /^( ?)\[(\d{1,4}(?: ?, ?\d{1,4}){0,9})\]$/;
const beginningOfMark = /^ ?(?:\[(?:\d{1,4}(?: ?, ?\d{1,4}){0,9}(?: ?, ?)?)?)?$/;

const punctuation = /^[.,;:!?)"'”»]+$/;

/** Neighbouring texts are one piece. */
class Pieces {
  readonly #pieces: MarkedPiece[] = [];
  #text = '';

  add(text: string): void {
    this.#text += text;
  }

  cite(cited: MarkedPiece): void {
    this.#end();
    this.#pieces.push(cited);
  }

  all(): readonly MarkedPiece[] {
    this.#end();
    return this.#pieces;
  }

  #end(): void {
    if (this.#text !== '') this.#pieces.push({ type: 'text', text: this.#text });
    this.#text = '';
  }
}

/**
 * Checks the numbers in brackets of a streamed text while it is written: those of no source are dropped, and with `strip` valid ones
 * become citations without a mark, after the punctuation of their sentence. What may be the beginning of a mark waits for its end. Code stays as it is.
 */
export class CitationMarks {
  #held = '';
  #inCode = false;
  /** Citations that wait for the punctuation of their sentence. */
  #pending: (MarkedPiece & { type: 'cited' })[] = [];

  constructor(
    private readonly sources: readonly NumberedSource[],
    private readonly marks: 'keep' | 'strip',
  ) {}

  push(piece: string): readonly MarkedPiece[] {
    const output = new Pieces();
    for (const character of piece) {
      this.#held += character;
      const mark = wholeMark.exec(this.#held);
      if (mark) {
        const { text, cited } = this.#checked(mark);
        output.add(text);
        this.#pending.push(...cited);
        this.#held = '';
        continue;
      }
      if (!this.#inCode && beginningOfMark.test(this.#held)) continue;
      // The last character may begin the next mark.
      const isBeginning = !this.#inCode && (character === ' ' || character === '[') && this.#held.length > 1;
      const text = isBeginning ? this.#held.slice(0, -1) : this.#held;
      if (!punctuation.test(text)) this.#cite(output);
      output.add(text);
      this.#held = isBeginning ? character : '';
      if (character === '`') this.#inCode = !this.#inCode;
    }
    return output.all();
  }

  /** What turned out to be no mark. */
  finish(): readonly MarkedPiece[] {
    const output = new Pieces();
    this.#cite(output);
    output.add(this.#held);
    this.#held = '';
    return output.all();
  }

  #cite(output: Pieces): void {
    for (const cited of this.#pending.splice(0)) output.cite(cited);
  }

  #checked([whole, space = '', numbers = '']: RegExpExecArray) {
    if (this.sources.length === 0) return { text: whole, cited: [] };
    const known = [...new Set(numbers.split(',').map(Number))].flatMap((number) => {
      const source = this.sources[number - 1];
      return source ? [{ number, ...source }] : [];
    });
    if (this.marks === 'strip') {
      return { text: '', cited: known.map(({ source, fetched }) => ({ type: 'cited', source, fetched }) as const) };
    }
    const valid = known.map(({ number }) => number).join(', ');
    return { text: valid === '' ? '' : `${space}[${valid}]`, cited: [] };
  }
}
