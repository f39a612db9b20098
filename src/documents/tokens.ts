/** Tokens per character that embedding models of Latin scripts need: rough, but never much too few. */
const costs = { word: 1, longWord: 0.3, digit: 0.6, sign: 1, wide: 1, other: 0.9 } as const;

/** Letters of a word that one token usually has. */
const commonWord = 6;

/**
 * Roughly how many tokens an embedding model reads in a part of a text: counted by words, digits, signs and the characters of other
 * scripts, in one pass and without a vocabulary.
 */
export function estimateTokens(text: string, from = 0, to = text.length): number {
  let tokens = 0;
  let letters = 0;
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    if ((code | 32) >= 97 && (code | 32) <= 122) {
      letters += 1;
      if (letters === 1) tokens += costs.word;
      else if (letters > commonWord) tokens += costs.longWord;
      continue;
    }
    // Letters with accents are part of a word.
    if (code >= 0xc0 && code < 0x250) {
      letters += 1;
      tokens += letters === 1 ? costs.word : costs.longWord;
      continue;
    }
    letters = 0;
    if (code <= 32 || code === 0xa0) continue;
    if (code >= 48 && code <= 57) tokens += costs.digit;
    else if (code < 0x80) tokens += costs.sign;
    else if (code >= 0x2e80) tokens += costs.wide;
    else tokens += costs.other;
  }
  return tokens;
}
