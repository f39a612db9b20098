import { follow, PhraseFinder, type PhraseTree, phraseTree } from '../patterns/phrase-finder.ts';

/**
 * `release`: the text of the output tokens from `start` to `end` (exclusive) may be sent; often none. `rewind`: go back to this
 * output position and choose again; `token` is forbidden there from now on.
 */
export type BanStep =
  | { readonly type: 'release'; readonly start: number; readonly end: number; readonly text: string }
  | { readonly type: 'rewind'; readonly position: number; readonly token: number };

interface HeldToken {
  readonly token: number;
  readonly text: string;
  readonly folded: string;
  /** The state of the phrase search before it. */
  readonly before: PhraseTree;
}

/**
 * Holds the output back by some tokens and rewinds banned phrases before they are sent. A token stays held, even past the delay,
 * while a phrase may have begun in it. All phrases are in one tree, so a token costs its length, whatever their number.
 */
export class PhraseBans {
  readonly #tree: PhraseTree;
  readonly #held: HeldToken[] = [];
  readonly #forbidden = new Map<number, number[]>();
  #released = 0;
  #node: PhraseTree;
  /** Characters of the held tokens, folded. */
  #length = 0;

  constructor(
    phrases: readonly string[],
    private readonly delay: number,
  ) {
    this.#tree = phraseTree(phrases.map(foldCase));
    this.#node = this.#tree;
  }

  /** Tokens that must not come next. */
  get forbidden(): readonly number[] {
    return this.#forbidden.get(this.#released + this.#held.length) ?? [];
  }

  /** Takes the next output token. `text` is its text: empty if its bytes are only the beginning of a character. */
  accept(token: number, text: string): BanStep {
    const folded = foldCase(text);
    this.#held.push({ token, text, folded, before: this.#node });
    const start = this.#read(folded);
    // A phrase that begins in the released text is cut at the first held token.
    if (start !== undefined) return this.#rewind(Math.max(0, start));
    return this.#release(this.#releasable());
  }

  /** Releases the rest, at the end of the text. */
  flush(): BanStep {
    return this.#release(this.#held.length);
  }

  /** Offset in the held text of the first phrase that this text completes; negative if it begins in the released text. */
  #read(folded: string): number | undefined {
    let start: number | undefined;
    for (let index = 0; index < folded.length; index += 1) {
      this.#node = follow(this.#tree, this.#node, folded.charCodeAt(index));
      this.#length += 1;
      const { phrase } = this.#node;
      if (phrase !== undefined) start = Math.min(start ?? Infinity, this.#length - phrase.length);
    }
    return start;
  }

  #rewind(start: number): BanStep {
    const index = this.#tokenAt(start);
    const { token, before } = this.#held[index] as HeldToken;
    const position = this.#released + index;
    for (const { folded } of this.#held.splice(index)) this.#length -= folded.length;
    this.#node = before;
    // Later bans belong to the text that was rewound.
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
    // A multibyte character is the text of the token that completes it, but begins in the tokens without text before it.
    const spansTokens = start === offset && text.charCodeAt(0) > 0x7f;
    while (spansTokens && index > 0 && this.#held[index - 1]?.text === '') index -= 1;
    return index;
  }

  /** How many held tokens are past the delay and cannot be the beginning of a phrase. */
  #releasable(): number {
    const due = this.#held.length - this.delay;
    let node: PhraseTree = this.#node;
    // A phrase that began in the released text cannot be rewound, so only later beginnings count.
    while (node.depth > this.#length && node.fallback) node = node.fallback;
    const certain = this.#length - node.depth;
    let end = 0;
    for (let index = 0; index < due; index += 1) {
      end += (this.#held[index] as HeldToken).folded.length;
      if (end > certain) return index;
    }
    return Math.max(0, due);
  }

  #release(count: number): BanStep {
    const start = this.#released;
    const released = this.#held.splice(0, count);
    const text = released.map((held) => held.text).join('');
    for (const { folded } of released) this.#length -= folded.length;
    this.#released += count;
    for (let position = start; position < this.#released; position += 1) this.#forbidden.delete(position);
    return { type: 'release', start, end: this.#released, text };
  }
}

const maxEntries = 768;
/** A single token of this many bytes or more is treated as a phrase: long words can be spelled in other tokens. */
const minPhraseBytes = 12;
/** Additional delay, because a phrase can be spelled in more tokens than the tokenizer uses. */
const spareDelay = 3;

export interface BanList {
  readonly tokens: Int32Array;
  readonly phrases: readonly string[];
  /** By how many tokens the output is held back for the phrases; 0 without any. */
  readonly delay: number;
  /** Number of entries beyond the limit, which have no effect. */
  readonly dropped: number;
}

/** Short single-token entries forbid every token that contains them, in any case of letters; the others are phrases. */
export function splitBans(entries: readonly string[], vocabulary: Vocabulary): BanList {
  const filled = entries.filter((entry) => entry !== '');
  const substrings: string[] = [];
  const phrases: string[] = [];
  let maxLength = 0;
  for (const entry of filled.slice(0, maxEntries)) {
    const { length } = vocabulary.tokenize(entry);
    if (length <= 1 && Buffer.byteLength(entry) < minPhraseBytes) {
      substrings.push(foldCase(entry));
    } else {
      phrases.push(entry);
      maxLength = Math.max(maxLength, length);
    }
  }
  return {
    tokens: tokensContaining(substrings, vocabulary),
    phrases,
    delay: phrases.length > 0 ? maxLength + spareDelay : 0,
    dropped: Math.max(0, filled.length - maxEntries),
  };
}

function tokensContaining(substrings: readonly string[], vocabulary: Vocabulary): Int32Array {
  const tokens: number[] = [];
  if (substrings.length === 0) return new Int32Array();
  const tree = phraseTree(substrings);
  for (let token = 0; token < vocabulary.size; token += 1) {
    if (new PhraseFinder(tree).push(foldCase(vocabulary.piece(token))).match) tokens.push(token);
  }
  return Int32Array.from(tokens);
}

/** Lower case independent of neighbouring characters: the two lower-case forms of sigma become one. */
function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/** The part of a model's vocabulary that turns strings into tokens to ban or to search for. */
export interface Vocabulary {
  readonly size: number;
  /** The text of a token, also of special ones; empty if it is only a part of a character. */
  piece(token: number): string;
  /** Without a BOS token, and without parsing special tokens. */
  tokenize(text: string): ArrayLike<number>;
}
