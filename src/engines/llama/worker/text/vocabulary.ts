import { isUtf8 } from 'node:buffer';
import type { FillMarks, TokenizeOptions, TokenPiece } from '../../../../core/text-service.ts';
import type { Native } from '../native/native.ts';
import type { Pointer } from '../native/structs.ts';

const emptyBytes = new Uint8Array(0);
const noFrame = { before: new Int32Array(0), after: new Int32Array(0) };
/** Characters from which on a text is worth the way to another thread. */
const longText = 32_768;
/** Characters between two cuts: small enough that the special tokens in a piece cost little. */
const pieceLength = 8192;
/** Kinds of tokens, as the library numbers them. */
const kinds = { unknown: 1, control: 8, userDefined: 16, stripsBefore: 128 } as const;

function foundTokens(tokens: Int32Array, count: number): Int32Array {
  if (count < 0) throw new Error(`the tokenizer wants room for ${-count} tokens`);
  return tokens.slice(0, count);
}

function joined(lists: readonly ArrayLike<number>[]): Int32Array {
  const all = new Int32Array(lists.reduce((length, list) => length + list.length, 0));
  let length = 0;
  for (const list of lists) {
    all.set(list, length);
    length += list.length;
  }
  return all;
}

/** The model's tokens and their bytes. A token can be part of a character, so text is made from bytes, not per token. */
export class Vocabulary {
  readonly size: number;
  readonly bos: number;
  /** The texts of the tokens that begin and end a text; empty where there is none. */
  readonly specialTokens: { readonly bos: string; readonly eos: string };
  readonly endTokens: readonly number[];
  readonly addsBos: boolean;
  /** A text that is to be continued may get a beginning but never an end; one that is read as a whole gets both. */
  readonly #addsAny: boolean;
  readonly #isEnd: Uint8Array;
  readonly #plain: (Uint8Array | undefined)[] = [];
  readonly #rendered: (Uint8Array | undefined)[] = [];
  readonly #scratch = new Uint8Array(1024);
  #texts: readonly string[] | undefined;
  #marks: { readonly found: RegExp | undefined } | undefined;

  constructor(
    readonly native: Native,
    readonly pointer: Pointer,
    options: { readonly addBos: boolean; readonly addEnds?: boolean },
  ) {
    this.size = native.vocabularySize(pointer);
    this.bos = native.tokenBos(pointer);
    this.addsBos = options.addBos && this.bos >= 0 && native.addsBos(pointer);
    this.#addsAny = this.addsBos || (options.addEnds ?? false);
    this.#isEnd = new Uint8Array(this.size);
    for (let token = 0; token < this.size; token += 1) if (native.isEndToken(pointer, token)) this.#isEnd[token] = 1;
    for (const token of [native.tokenEos(pointer), native.tokenEot(pointer)]) if (token >= 0) this.#isEnd[token] = 1;
    const text = (token: number) => Buffer.from(this.bytes(token, true)).toString();
    this.specialTokens = { bos: text(this.bos), eos: text(native.tokenEos(pointer)) };
    this.endTokens = [...this.#isEnd.keys()].filter((token) => this.#isEnd[token] === 1);
  }

  isEnd(token: number): boolean {
    return this.#isEnd[token] === 1;
  }

  /** Tokens that are no text: in chats they stand around the turns. */
  isControl(token: number): boolean {
    return token >= 0 && this.native.isControlToken(this.pointer, token);
  }

  tokenize(text: string, options: TokenizeOptions): Int32Array {
    const { bytes, tokens, flags } = this.#tokenizing(text, options);
    const count = this.native.tokenize(this.pointer, bytes, bytes.length, tokens, tokens.length, ...flags);
    return foundTokens(tokens, count);
  }

  /** A book takes seconds, in which nobody else should stand still: it is read on another thread. */
  async tokenizeAside(text: string, options: TokenizeOptions): Promise<Int32Array> {
    if (text.length < longText) return this.tokenize(text, options);
    const pieces = options.parseSpecial === false ? [text] : cutAtMarks(text, this.#cuttingMarks(), pieceLength);
    if (pieces.length === 1) return this.#pieceAside(text, options);
    const { before, after } = options.addSpecial ? this.around() : noFrame;
    const lists: ArrayLike<number>[] = [before];
    for (const piece of pieces) lists.push(await this.#pieceAside(piece, { ...options, addSpecial: false }));
    lists.push(after);
    return joined(lists);
  }

  /** The tokens that are put around a text. */
  around(): { readonly before: Int32Array; readonly after: Int32Array } {
    const all = this.tokenize('', { addSpecial: true });
    const first = this.#addsAny && this.native.addsBos(this.pointer) ? 1 : 0;
    return { before: all.slice(0, first), after: all.slice(first) };
  }

  async #pieceAside(text: string, options: TokenizeOptions): Promise<Int32Array> {
    const { bytes, tokens, flags } = this.#tokenizing(text, options);
    const count = await this.native.tokenizeAside(this.pointer, bytes, bytes.length, tokens, tokens.length, ...flags);
    return foundTokens(tokens, count);
  }

  /** Looked for in the whole vocabulary, once, when the first long text comes. */
  #cuttingMarks(): RegExp | undefined {
    this.#marks ??= { found: cuttingMarks(this.#specials()) };
    return this.#marks.found;
  }

  #specials(): readonly SpecialText[] {
    const specials: SpecialText[] = [];
    for (let token = 0; token < this.size; token += 1) {
      const attributes = this.native.tokenAttributes(this.pointer, token);
      if ((attributes & (kinds.unknown | kinds.control | kinds.userDefined)) === 0) continue;
      const text = Buffer.from(this.bytes(token, true)).toString();
      specials.push({ text, keepsBefore: (attributes & kinds.stripsBefore) === 0 });
    }
    return specials;
  }

  #tokenizing(text: string, { addSpecial, parseSpecial = true }: TokenizeOptions) {
    const bytes = Buffer.from(text);
    // One token a byte is the worst case, besides what the model adds around the text.
    const tokens = new Int32Array(bytes.length + 8);
    const flags: [boolean, boolean] = [addSpecial && this.#addsAny, parseSpecial];
    return { bytes, tokens, flags };
  }

  /** The bytes that a token stands for; control tokens are silent unless `renderSpecial`. */
  bytes(token: number, renderSpecial: boolean): Uint8Array {
    if (token < 0 || token >= this.size) return emptyBytes;
    const cache = renderSpecial ? this.#rendered : this.#plain;
    const known = cache[token];
    if (known) return known;
    const made = this.#read(token, renderSpecial);
    cache[token] = made;
    return made;
  }

  /** A token by itself: its text, special or not, or its bytes where they are only a part of a character. */
  piece(token: number): TokenPiece {
    const bytes = Buffer.from(this.bytes(token, true));
    return isUtf8(bytes) ? bytes.toString() : [...bytes];
  }

  detokenize(tokens: ArrayLike<number>, renderSpecial: boolean): string {
    return Buffer.concat(Array.from(tokens, (token) => this.bytes(token, renderSpecial))).toString();
  }

  /** The text of every token, for searches over the whole vocabulary. Made on first use: it takes some milliseconds. */
  texts(): readonly string[] {
    this.#texts ??= Array.from({ length: this.size }, (_, token) => Buffer.from(this.bytes(token, true)).toString());
    return this.#texts;
  }

  #read(token: number, special: boolean): Uint8Array {
    const length = this.native.tokenPiece(this.pointer, token, this.#scratch, this.#scratch.length, 0, special);
    if (length >= 0) return this.#scratch.slice(0, length);
    const larger = new Uint8Array(-length);
    this.native.tokenPiece(this.pointer, token, larger, larger.length, 0, special);
    return larger;
  }
}

/** A token that is found in a text before anything else is, and parts it. */
interface SpecialText {
  readonly text: string;
  /** Whether what stands before it stays as it is: some tokens swallow the spaces there. */
  readonly keepsBefore: boolean;
}

/**
 * The library takes a time that grows with the square of the special tokens in a text. What stands before one and what
 * begins with it are tokenized apart anyway, so that a text can be cut there without any change. Only marks serve that can
 * never be part of another one, nor run into it: `<a>` would not where `<<a>` is a token too.
 */
export function cuttingMarks(specials: readonly SpecialText[]): RegExp | undefined {
  const texts = [...new Set(specials.map(({ text }) => text))].filter((text) => text !== '');
  if (texts.length > mostMarks || texts.some(({ length }) => length > longestMark)) return undefined;
  const inside = new Set<string>();
  const ends = new Set<string>();
  for (const text of texts) {
    for (let start = 0; start < text.length; start++) {
      if (start > 0) ends.add(text.slice(start));
      for (let end = start + 1; end <= text.length; end++)
        if (end - start < text.length) inside.add(text.slice(start, end));
    }
  }
  const marks = specials.filter(({ text, keepsBefore }) => keepsBefore && text !== '' && !inside.has(text));
  const apart = marks.filter(({ text }) => !beginnings(text).some((beginning) => ends.has(beginning)));
  if (apart.length === 0) return undefined;
  return new RegExp(apart.map(({ text }) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g');
}

/** Vocabularies have some thousand of some dozen characters; to look at more would take longer than it saves. */
const mostMarks = 20_000;
const longestMark = 200;

/** The text in pieces of about this size or more, each but the first of which begins with a mark. */
export function cutAtMarks(text: string, marks: RegExp | undefined, size: number): readonly string[] {
  if (!marks || text.length <= size) return [text];
  const pieces: string[] = [];
  let start = 0;
  for (;;) {
    marks.lastIndex = start + size;
    const next = marks.exec(text)?.index;
    pieces.push(text.slice(start, next));
    if (next === undefined) return pieces;
    start = next;
  }
}

function beginnings(text: string): readonly string[] {
  return Array.from({ length: text.length - 1 }, (_, length) => text.slice(0, length + 1));
}

type Spelling = Pick<Vocabulary, 'tokenize' | 'detokenize' | 'size'> & {
  readonly pointer: Vocabulary['pointer'];
  readonly native: Pick<
    Vocabulary['native'],
    'tokenGapPrefix' | 'tokenGapSuffix' | 'tokenGapMiddle' | 'tokenRepository' | 'tokenFile'
  >;
};

/** The marks of a gap that the file of the model names, or that the library knows by their names. */
export function fillMarks(vocabulary: Spelling): FillMarks | undefined {
  const { native, pointer } = vocabulary;
  const prefix = spelled(vocabulary, native.tokenGapPrefix(pointer));
  const suffix = spelled(vocabulary, native.tokenGapSuffix(pointer));
  const middle = spelled(vocabulary, native.tokenGapMiddle(pointer));
  if (prefix === undefined || suffix === undefined || middle === undefined) return undefined;
  const repository = spelled(vocabulary, native.tokenRepository(pointer));
  return { prefix, suffix, middle, repository, file: spelled(vocabulary, native.tokenFile(pointer)) };
}

/** Prompts are texts: a mark is of use only where its text is read as this very token again. */
function spelled(vocabulary: Spelling, token: number): string | undefined {
  if (token < 0 || token >= vocabulary.size) return undefined;
  const text = vocabulary.detokenize([token], true);
  const [read, ...more] = vocabulary.tokenize(text, { addSpecial: false });
  return read === token && more.length === 0 ? text : undefined;
}
