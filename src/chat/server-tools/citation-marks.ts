import type { Source } from '../../core/server-tools.ts';
import type { NumberedSource } from './citations.ts';

/** Text for the client, or a source that is cited right there by a mark that was taken out of it. */
export type MarkedPiece =
  | { readonly type: 'text'; text: string }
  | { readonly type: 'cited'; readonly source: Source; readonly fetched: boolean };

/** `[2]`, `[1, 3]`, with the space before it, and the beginnings of that. */
const wholeMark = /^( ?)\[(\d{1,4}(?: ?, ?\d{1,4}){0,9})\]$/;
const beginningOfMark = /^ ?(?:\[(?:\d{1,4}(?: ?, ?\d{1,4}){0,9}(?: ?, ?)?)?)?$/;

const punctuation = /^[.,;:!?)"'”»]+$/;

/** Neighbouring texts are one piece. */
function addText(pieces: MarkedPiece[], text: string): void {
  const last = pieces.at(-1);
  if (last?.type === 'text') last.text += text;
  else if (text !== '') pieces.push({ type: 'text', text });
}

/**
 * Checks the numbers in brackets of a streamed text while it is written: those of no source are dropped, and with `strip` valid ones
 * become citations without a mark, after the punctuation of their sentence. What may be the beginning of a mark waits for its end. Code stays as it is.
 */
export class CitationMarks {
  /** The beginning of what may be a mark. */
  #pendingText = '';
  #inCode = false;
  /** Citations that wait for the punctuation of their sentence. */
  #pendingCitations: (MarkedPiece & { type: 'cited' })[] = [];

  constructor(
    private readonly sources: readonly NumberedSource[],
    private readonly marks: 'keep' | 'strip',
  ) {}

  push(piece: string): readonly MarkedPiece[] {
    const output: MarkedPiece[] = [];
    for (const character of piece) {
      this.#pendingText += character;
      const mark = wholeMark.exec(this.#pendingText);
      if (mark) {
        const { text, cited } = this.#checked(mark);
        addText(output, text);
        this.#pendingCitations.push(...cited);
        this.#pendingText = '';
        continue;
      }
      if (!this.#inCode && beginningOfMark.test(this.#pendingText)) continue;
      // The last character may begin the next mark.
      const isBeginning = !this.#inCode && (character === ' ' || character === '[') && this.#pendingText.length > 1;
      const text = isBeginning ? this.#pendingText.slice(0, -1) : this.#pendingText;
      if (!punctuation.test(text)) output.push(...this.#pendingCitations.splice(0));
      addText(output, text);
      this.#pendingText = isBeginning ? character : '';
      if (character === '`') this.#inCode = !this.#inCode;
    }
    return output;
  }

  /** What turned out to be no mark. */
  finish(): readonly MarkedPiece[] {
    const output: MarkedPiece[] = this.#pendingCitations.splice(0);
    addText(output, this.#pendingText);
    this.#pendingText = '';
    return output;
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
