import type { ServerToolStep, Source } from '../../core/server-tools.ts';

type Citation = ServerToolStep & { type: 'citation' };

/** A page that a model can cite; its number is its index plus 1. */
export interface NumberedSource {
  readonly source: Source;
  readonly fetched: boolean;
}

/** Longer quotes and addresses are not recognised. */
const maxLength = 1200;
/** Shorter quotes may be in a page by chance. */
const minQuote = 20;

const openingOf: Readonly<Record<string, string>> = { '"': '"', '”': '“', '“': '„', '»': '«', '«': '»' };

/**
 * Finds the pages that a reply cites: by their number in brackets, by their address, or by a quote that occurs word for word
 * in a page. Nothing else is a citation, and a number that no page has is none.
 */
export class CitationFinder {
  #tail = '';
  /** Where the tail begins in the text, and where its last citation ended. */
  #offset = 0;
  #last: { readonly source: Source; readonly end: number } | undefined;
  #inCode = false;

  constructor(private readonly sources: readonly NumberedSource[]) {}

  /** The citations that end in the next piece of the text. */
  push(piece: string): readonly Citation[] {
    const begin = this.#tail.length;
    const text = this.#tail + piece;
    const citations: Citation[] = [];
    for (let end = begin; end < text.length; end += 1) {
      const character = text[end] as string;
      if (character === '`' && text[end - 1] !== '`') this.#inCode = !this.#inCode;
      if (this.#inCode || this.sources.length === 0) continue;
      for (const span of this.#endingAt(text, end, character)) this.#add(citations, span, text.length);
    }
    this.#tail = text.slice(-maxLength);
    this.#offset += text.length - this.#tail.length;
    return citations;
  }

  /** An address at the end of the text. */
  finish(): readonly Citation[] {
    const citations: Citation[] = [];
    const { length } = this.#tail;
    if (!this.#inCode) for (const span of this.#address(this.#tail, length)) this.#add(citations, span, length);
    return citations;
  }

  #add(citations: Citation[], { start, end, ...cited }: Span, length: number): void {
    const last = this.#last;
    this.#last = { source: cited.source, end: this.#offset + end };
    // The number of a page and its address in one link.
    const gap = this.#offset + start - (last?.end ?? 0);
    if (last?.source === cited.source && gap <= 2) return;
    citations.push({ type: 'citation', ...cited, length: end - start, back: length - end });
  }

  #endingAt(text: string, end: number, character: string): readonly Span[] {
    const named = /[\s)>\]"'`,]/.test(character) ? this.#address(text, end) : [];
    if (character === ']') return [...named, ...this.#numbers(text, end)];
    return Object.hasOwn(openingOf, character) ? [...named, ...this.#quote(text, end, character)] : named;
  }

  /** `[2]`, `[1, 3]`. */
  #numbers(text: string, end: number): readonly Span[] {
    const [mark, numbers] =
      /\[(\d{1,4}(?: ?, ?\d{1,4}){0,9})\]$/.exec(text.slice(Math.max(0, end - 60), end + 1)) ?? [];
    if (!mark || !numbers) return [];
    const cited = [...new Set(numbers.split(',').map((each) => Number(each) - 1))];
    return cited.flatMap((index) => {
      const source = this.sources[index];
      return source ? [{ ...source, start: end + 1 - mark.length, end: end + 1 }] : [];
    });
  }

  #address(text: string, end: number): readonly Span[] {
    const first = Math.max(0, end - maxLength);
    const before = text.slice(first, end);
    const begin = Math.max(before.lastIndexOf('http://'), before.lastIndexOf('https://'));
    const address = before.slice(begin).replace(/[.,;:!?]{1,9}$/, '');
    if (begin === -1 || /[\s<>"']/.test(address)) return [];
    const source = this.sources.find(({ source: { url } }) => url === address || url === `${address}/`);
    return source ? [{ ...source, start: first + begin, end: first + begin + address.length }] : [];
  }

  #quote(text: string, end: number, character: string): readonly Span[] {
    const first = Math.max(0, end - maxLength);
    const before = text.slice(first, end);
    const begin = before.lastIndexOf(openingOf[character] as string);
    const quote = before
      .slice(begin + 1)
      .replace(/\s+/g, ' ')
      .trim()
      .replace(/[.,]$/, '');
    if (begin === -1 || quote.length < minQuote) return [];
    for (const source of this.sources) {
      const start = source.source.text.indexOf(quote);
      if (start !== -1) return [{ ...source, quote: { text: quote, start }, start: first + begin, end: end + 1 }];
    }
    return [];
  }
}

interface Span extends NumberedSource {
  readonly quote?: { readonly text: string; readonly start: number };
  readonly start: number;
  readonly end: number;
}
