import type { Vocabulary } from '../text/vocabulary.ts';

/** Tokens with these texts, numbered in their order; the last one ends a text. */
export function letterVocabulary(
  ...pieces: readonly (string | Uint8Array)[]
): Pick<Vocabulary, 'bytes' | 'isEnd' | 'tokenize'> {
  return {
    bytes: (token) => Buffer.from(pieces[token] ?? ''),
    isEnd: (token) => token === pieces.length - 1,
    tokenize: (text) => {
      const token = pieces.indexOf(text);
      return token < 0 ? Int32Array.of(0, 0) : Int32Array.of(token);
    },
  };
}
