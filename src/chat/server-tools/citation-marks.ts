import type { Source } from '../../core/server-tools.ts';
import type { NumberedSource } from './citations.ts';

/** Text for the client, or a source that is cited right there by a mark that was taken out of it. */
export type MarkedPiece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'cited'; readonly source: Source; readonly fetched: boolean };

/** `[2]`, `[1, 3]`, with the space before it, and the beginnings of that. */
const wholeMark = /^( ?)\[(\d{1,4}(?: ?, ?\d{1,4}){0,9})\]$/;
const beginningOfMark = /^ ?(?:\[(?:\d{1,4}(?: ?, ?\d{1,4}){0,9}(?: ?, ?)?)?)?$/;

/**
 * Checks the numbers in brackets of a streamed text while it is written: those of no source are dropped, and with `strip` valid ones
 * become citations without a mark. What may be the beginning of a mark waits for its end. Code stays as it is.
 */
export class CitationMarks {
  #held = '';
  #inCode = false;

  constructor(
    private readonly sources: readonly NumberedSource[],
    private readonly marks: 'keep' | 'strip',
  ) {}

  push(piece: string): readonly MarkedPiece[] {
    const pieces: MarkedPiece[] = [];
    let text = '';
    const end = (): void => {
      if (text !== '') pieces.push({ type: 'text', text });
      text = '';
    };
    for (const character of piece) {
      this.#held += character;
      const mark = wholeMark.exec(this.#held);
      if (mark) {
        const { kept, cited } = this.#checked(mark);
        text += kept;
        if (cited.length > 0) end();
        pieces.push(...cited);
        this.#held = '';
        continue;
      }
      if (!this.#inCode && beginningOfMark.test(this.#held)) continue;
      // The last character may begin the next mark.
      const isBeginning = !this.#inCode && (character === ' ' || character === '[') && this.#held.length > 1;
      text += isBeginning ? this.#held.slice(0, -1) : this.#held;
      this.#held = isBeginning ? character : '';
      if (character === '`') this.#inCode = !this.#inCode;
    }
    end();
    return pieces;
  }

  /** What turned out to be no mark. */
  finish(): string {
    const held = this.#held;
    this.#held = '';
    return held;
  }

  #checked([whole, space = '', numbers = '']: RegExpExecArray) {
    if (this.sources.length === 0) return { kept: whole, cited: [] };
    const found = [...new Set(numbers.split(',').map(Number))].flatMap((number) => {
      const source = this.sources[number - 1];
      return source ? [{ number, ...source }] : [];
    });
    if (this.marks === 'strip') {
      return { kept: '', cited: found.map(({ source, fetched }) => ({ type: 'cited', source, fetched }) as const) };
    }
    const valid = found.map(({ number }) => number).join(', ');
    return { kept: valid === '' ? '' : `${space}[${valid}]`, cited: [] };
  }
}
