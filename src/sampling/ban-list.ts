import { PhraseFinder, phraseTree } from '../patterns/phrase-finder.ts';
import { foldCase } from './fold-case.ts';
import type { Vocabulary } from './vocabulary.ts';

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
