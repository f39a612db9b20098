import fc from 'fast-check';
import type { Vocabulary } from '../bans.ts';
import { Candidates } from '../candidates.ts';

/** Candidates 0, 1, 2, … with these logits. */
export function candidatesOf(logits: ArrayLike<number>): Candidates {
  const candidates = new Candidates(Math.max(1, logits.length));
  candidates.loadAll(Float32Array.from(logits));
  return candidates;
}

/** Candidates with probabilities in these proportions. */
export const weighted = (...weights: number[]): Candidates => candidatesOf(weights.map((weight) => Math.log(weight)));

export const idsOf = ({ ids, size }: Candidates): number[] => [...ids.subarray(0, size)];
export const logitsOf = ({ logits, size }: Candidates): number[] => [...logits.subarray(0, size)];
export const probabilitiesOf = ({ probabilities, size }: Candidates): number[] => [...probabilities.subarray(0, size)];

/** Logits of a model, including ties and impossible tokens. */
export const anyLogits = (maxLength = 60, minLength = 1): fc.Arbitrary<number[]> =>
  fc.array(
    fc.oneof(
      fc.float({ noNaN: true, noDefaultInfinity: true, min: -50, max: 50 }),
      fc.integer({ min: -3, max: 3 }),
      fc.constant(-Infinity),
    ),
    { minLength, maxLength },
  );

/** Tokens are the words given; a text is split greedily into the longest ones. */
export function vocabularyOf(pieces: readonly string[]): Vocabulary {
  const byLength = pieces
    .map((piece, token) => ({ piece, token }))
    .filter(({ piece }) => piece !== '')
    .sort((a, b) => b.piece.length - a.piece.length);
  return {
    size: pieces.length,
    piece: (token) => pieces[token] ?? '',
    tokenize: (text) => {
      const tokens: number[] = [];
      for (let rest = text; rest !== ''; ) {
        const found = byLength.find(({ piece }) => rest.startsWith(piece));
        if (found === undefined) throw new Error(`no token begins ${rest}`);
        tokens.push(found.token);
        rest = rest.slice(found.piece.length);
      }
      return tokens;
    },
  };
}
