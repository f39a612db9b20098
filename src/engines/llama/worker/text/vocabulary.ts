import { isUtf8 } from 'node:buffer';
import { AppError } from '../../../../core/errors.ts';
import type { FillMarks, TokenizeOptions, TokenPiece } from '../../../../core/text-service.ts';
import type { Native } from '../native/native.ts';
import type { Pointer } from '../native/structs.ts';
import { joinTokens } from './prompt.ts';

const emptyBytes = new Uint8Array(0);
const noFrame = { before: new Int32Array(0), after: new Int32Array(0) };
/** Texts from this many characters on are tokenized on another thread: shorter ones take at most some milliseconds. */
const minAsideLength = 32_768;
/** Characters between two cuts: few enough that the special tokens in a piece cost little. */
const pieceLength = 8192;
/** Kinds of tokens, as the library numbers them. */
export const tokenKinds = { unknown: 1, control: 8, userDefined: 16, stripsBefore: 128 } as const;

/** The model's tokens and their bytes. A token can be a part of a character, so texts are decoded from bytes, not per token. */
export class Vocabulary {
  readonly size: number;
  readonly bos: number;
  /** The texts of the BOS and EOS tokens; empty if there is none. */
  readonly specialTokens: { readonly bos: string; readonly eos: string };
  readonly endTokens: readonly number[];
  readonly addsBos: boolean;
  /** A prompt may get a BOS token but no end token; a text for embedding gets both. */
  readonly #addsAny: boolean;
  readonly #isEnd: Uint8Array;
  readonly #plain: (Uint8Array | undefined)[] = [];
  readonly #rendered: (Uint8Array | undefined)[] = [];
  readonly #scratch = new Uint8Array(1024);
  #texts: readonly string[] | undefined;
  #marks: { readonly pattern: RegExp | undefined } | undefined;

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
    this.specialTokens = { bos: this.#text(this.bos), eos: this.#text(native.tokenEos(pointer)) };
    this.endTokens = [...this.#isEnd.keys()].filter((token) => this.#isEnd[token] === 1);
  }

  isEnd(token: number): boolean {
    return this.#isEnd[token] === 1;
  }

  /** Control tokens, such as those around the turns of a chat. */
  readonly isControl = (token: number): boolean => token >= 0 && this.native.isControlToken(this.pointer, token);

  tokenize(text: string, options: TokenizeOptions): Int32Array {
    const { tokens, call } = this.#tokenizing(text, options);
    return written(tokens, this.native.tokenize(...call));
  }

  /** Long texts take seconds: they are tokenized on another thread, in pieces. */
  async tokenizeAside(text: string, options: TokenizeOptions): Promise<Int32Array> {
    if (text.length < minAsideLength) return this.tokenize(text, options);
    const pieces = options.parseSpecial === false ? [text] : cutAtMarks(text, this.#cuttingMarks(), pieceLength);
    const whole = pieces.length === 1;
    const { before, after } = options.addSpecial && !whole ? this.around() : noFrame;
    const lists = [before];
    for (const piece of pieces) {
      const { tokens, call } = this.#tokenizing(piece, whole ? options : { ...options, addSpecial: false });
      lists.push(written(tokens, await this.native.tokenizeAside(...call)));
    }
    return joinTokens([...lists, after]);
  }

  /** The tokens before and after a text. */
  around(): { readonly before: Int32Array; readonly after: Int32Array } {
    const all = this.tokenize('', { addSpecial: true });
    const first = this.#addsAny && this.native.addsBos(this.pointer) ? 1 : 0;
    return { before: all.slice(0, first), after: all.slice(first) };
  }

  /** Searches the whole vocabulary, at the first long text. */
  #cuttingMarks(): RegExp | undefined {
    this.#marks ??= { pattern: cuttingMarks(this.#specials()) };
    return this.#marks.pattern;
  }

  #specials(): readonly SpecialText[] {
    const specials: SpecialText[] = [];
    for (let token = 0; token < this.size; token += 1) {
      const attributes = this.native.tokenAttributes(this.pointer, token);
      if ((attributes & (tokenKinds.unknown | tokenKinds.control | tokenKinds.userDefined)) === 0) continue;
      specials.push({ text: this.#text(token), keepsBefore: (attributes & tokenKinds.stripsBefore) === 0 });
    }
    return specials;
  }

  #tokenizing(text: string, { addSpecial, parseSpecial = true }: TokenizeOptions) {
    const bytes = Buffer.from(text);
    // At worst one token per byte, besides those around the text.
    const tokens = new Int32Array(bytes.length + 8);
    const add = addSpecial && this.#addsAny;
    const call = [this.pointer, bytes, bytes.length, tokens, tokens.length, add, parseSpecial] as const;
    return { tokens, call };
  }

  /** The bytes of a token; control tokens have none unless `renderSpecial`. */
  bytes(token: number, renderSpecial: boolean): Uint8Array {
    if (token < 0 || token >= this.size) return emptyBytes;
    const cache = renderSpecial ? this.#rendered : this.#plain;
    cache[token] ??= this.#read(token, renderSpecial);
    return cache[token];
  }

  /** The text of a token, special or not, or its bytes if they are only a part of a character. */
  piece(token: number): TokenPiece {
    const bytes = Buffer.from(this.bytes(token, true));
    return isUtf8(bytes) ? bytes.toString() : [...bytes];
  }

  detokenize(tokens: ArrayLike<number>, renderSpecial: boolean): string {
    return Buffer.concat(Array.from(tokens, (token) => this.bytes(token, renderSpecial))).toString();
  }

  /** The text of every token, for searches over the whole vocabulary; created on first use. */
  texts(): readonly string[] {
    this.#texts ??= Array.from({ length: this.size }, (_, token) => this.#text(token));
    return this.#texts;
  }

  #text(token: number): string {
    return Buffer.from(this.bytes(token, true)).toString();
  }

  #read(token: number, special: boolean): Uint8Array {
    const length = this.native.tokenPiece(this.pointer, token, this.#scratch, this.#scratch.length, 0, special);
    if (length >= 0) return this.#scratch.slice(0, length);
    const larger = new Uint8Array(-length);
    this.native.tokenPiece(this.pointer, token, larger, larger.length, 0, special);
    return larger;
  }
}

function written(tokens: Int32Array, count: number): Int32Array {
  if (count < 0) throw new Error(`the tokenizer wants room for ${-count} tokens`);
  return tokens.slice(0, count);
}

/** Tokens from a client; throws if the model does not have one of them. */
export function checkedTokens(tokens: readonly number[], field: string, size: number): Int32Array {
  if (!tokens.every((token) => Number.isInteger(token) && token >= 0 && token < size)) {
    const expected = `made of token numbers of this model, which are whole and below ${size}`;
    throw new AppError('invalid-field', { field, expected });
  }
  return Int32Array.from(tokens);
}

/** A token that splits the text before any other tokenization; some of them strip the spaces before them. */
interface SpecialText {
  readonly text: string;
  readonly keepsBefore: boolean;
}

/**
 * Special tokens before which a text can be cut without a change: the library takes quadratic time in their number. Only marks that
 * can neither be inside of another one nor overlap it are used: not `<a>` if `<<a>` is a token too.
 */
export function cuttingMarks(specials: readonly SpecialText[]): RegExp | undefined {
  const texts = [...new Set(specials.map(({ text }) => text))].filter((text) => text !== '');
  if (texts.length > maxMarks || texts.some(({ length }) => length > maxMarkLength)) return undefined;
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
  const beginnings = (text: string) => Array.from({ length: text.length - 1 }, (_, index) => text.slice(0, index + 1));
  const apart = marks.filter(({ text }) => !beginnings(text).some((beginning) => ends.has(beginning)));
  if (apart.length === 0) return undefined;
  return new RegExp(apart.map(({ text }) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g');
}

/** Vocabularies have a few thousand special tokens of a few dozen characters; searching more would cost more than it saves. */
const maxMarks = 20_000;
const maxMarkLength = 200;

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

type GapTokens = 'tokenGapPrefix' | 'tokenGapSuffix' | 'tokenGapMiddle' | 'tokenRepository' | 'tokenFile';
type Spelling = Pick<Vocabulary, 'tokenize' | 'detokenize' | 'size' | 'pointer'> & {
  readonly native: Pick<Native, GapTokens>;
};

/** The marks of a gap that the file of the model names, or that the library knows by their names. */
export function fillMarks(vocabulary: Spelling): FillMarks | undefined {
  const { native, pointer } = vocabulary;
  const [prefix, suffix, middle, repository, file] = [
    native.tokenGapPrefix,
    native.tokenGapSuffix,
    native.tokenGapMiddle,
    native.tokenRepository,
    native.tokenFile,
  ].map((token) => spelled(vocabulary, token(pointer)));
  if (prefix === undefined || suffix === undefined || middle === undefined) return undefined;
  return { prefix, suffix, middle, repository, file };
}

/** The text of a token; undefined unless the text is tokenized as this token again, since prompts are texts. */
function spelled(vocabulary: Spelling, token: number): string | undefined {
  if (token < 0 || token >= vocabulary.size) return undefined;
  const text = vocabulary.detokenize([token], true);
  const [read, ...more] = vocabulary.tokenize(text, { addSpecial: false });
  return read === token && more.length === 0 ? text : undefined;
}
