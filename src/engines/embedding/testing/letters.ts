import type { Vocabulary } from '../../llama/worker/text/vocabulary.ts';

/** Where a text begins and ends. */
export const [begin, end] = [1, 2];

/** A vocabulary in which each character is a token, and a text has a beginning and an end. */
export const letters: Pick<Vocabulary, 'size' | 'tokenizeAside' | 'detokenize' | 'around'> = {
  size: 1000,
  tokenizeAside: async (text, { addSpecial }) => {
    const inner = Array.from(text, (letter) => letter.codePointAt(0) ?? 0);
    return Int32Array.from(addSpecial ? [begin, ...inner, end] : inner);
  },
  detokenize: (tokens) => String.fromCodePoint(...Array.from(tokens)),
  around: () => ({ before: Int32Array.of(begin), after: Int32Array.of(end) }),
};

export const spelled = (tokens: Int32Array): string =>
  Array.from(tokens, (token) => ({ [begin]: '<', [end]: '>' })[token] ?? String.fromCodePoint(token)).join('');
