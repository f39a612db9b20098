import { follow, PhraseFinder, type PhraseTree, phraseTree } from '../patterns/phrase-finder.ts';

/**
 * `release`: the text of the output tokens from `start` to `end` (exclusive) may be shown; often none. `rewind`: go back to this
 * output position and choose again; `token` is forbidden there from now on.
 */
export type BanStep =
  | { readonly type: 'release'; readonly start: number; readonly end: number; readonly text: string }
  | { readonly type: 'rewind'; readonly position: number; readonly token: number };

interface HeldToken {
  readonly token: number;
  readonly text: string;
  readonly folded: string;
  /** How far into phrases the text before it has come. */
  readonly before: PhraseTree;
}

/**
 * Holds the output back by some tokens and rewinds banned phrases before they are shown. A token stays held, even past the delay,
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

  /** What cannot be chosen as the next token. */
  get forbidden(): readonly number[] {
    return this.#forbidden.get(this.#released + this.#held.length) ?? [];
  }

  /** Takes the next output token. `text` is what it adds: empty where its bytes are only the beginning of a character. */
  accept(token: number, text: string): BanStep {
    const folded = foldCase(text);
    this.#held.push({ token, text, folded, before: this.#node });
    const start = this.#read(folded);
    // What begins in the shown text is broken off at the first token that was not shown.
    if (start !== undefined) return this.#rewind(Math.max(0, start));
    return this.#release(this.#releasable());
  }

  /** Releases the rest, at the end of the text. */
  flush(): BanStep {
    return this.#release(this.#held.length);
  }

  /** Where in the held text the first phrase begins that this text completes; below 0 for one in the shown text. */
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
  #releasable(): number {
    const due = this.#held.length - this.delay;
    let node: PhraseTree = this.#node;
    // What began in the shown text cannot be taken back, so only what began later counts.
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
    const shown = this.#held.splice(0, count);
    const text = shown.map((held) => held.text).join('');
    for (const { folded } of shown) this.#length -= folded.length;
    this.#released += count;
    for (let position = start; position < this.#released; position += 1) this.#forbidden.delete(position);
    return { type: 'release', start, end: this.#released, text };
  }
}

const maximumCount = 768;
/** A single token of this many bytes or more is a phrase all the same: long ones can be spelled in other tokens. */
const tokenBanBytes = 12;
const spareDelay = 3;

export interface BanList {
  readonly tokens: Int32Array;
  readonly phrases: readonly string[];
  /** How many tokens the output must be held back for the phrases; 0 without any. */
  readonly delay: number;
  /** How many entries were past the limit and are not honoured. */
  readonly dropped: number;
}

/** Short single-token entries forbid every token that contains them, in any case of letters; the others are phrases. */
export function splitBans(entries: readonly string[], vocabulary: Vocabulary): BanList {
  const filled = entries.filter((entry) => entry !== '');
  const parts: string[] = [];
  const phrases: string[] = [];
  let longest = 0;
  for (const entry of filled.slice(0, maximumCount)) {
    const { length } = vocabulary.tokenize(entry);
    if (length <= 1 && Buffer.byteLength(entry) < tokenBanBytes) {
      parts.push(foldCase(entry));
    } else {
      phrases.push(entry);
      longest = Math.max(longest, length);
    }
  }
  return {
    tokens: tokensContaining(parts, vocabulary),
    phrases,
    delay: phrases.length > 0 ? longest + spareDelay : 0,
    dropped: Math.max(0, filled.length - maximumCount),
  };
}

function tokensContaining(parts: readonly string[], vocabulary: Vocabulary): Int32Array {
  const tokens: number[] = [];
  if (parts.length === 0) return new Int32Array();
  const tree = phraseTree(parts);
  for (let token = 0; token < vocabulary.size; token += 1) {
    if (new PhraseFinder(tree).push(foldCase(vocabulary.piece(token))).match) tokens.push(token);
  }
  return Int32Array.from(tokens);
}

/** Lower case that does not depend on the neighbours: the two small forms of sigma become one. */
function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/** What turning strings into tokens to forbid or to look for needs of a model. */
export interface Vocabulary {
  readonly size: number;
  /** The text of a token, special ones included; empty where it is only a part of a character. */
  piece(token: number): string;
  /** Without a token for the beginning, and without reading special tokens out of the text. */
  tokenize(text: string): ArrayLike<number>;
}
