import type { EmbeddingInput } from '../../../core/embedding.ts';
import { AppError } from '../../../core/errors.ts';
import type { Vocabulary } from '../../llama/worker/text/vocabulary.ts';

type Words = Pick<Vocabulary, 'size' | 'tokenizeAside' | 'around'>;

export interface ReadText {
  readonly tokens: Int32Array;
  readonly truncated: boolean;
}

export interface Limits {
  readonly maxTokens: number;
  readonly truncate: boolean;
}

/** The tokens of an input, as many as the model can read; what cannot be read is refused by its name. */
export async function readInput(
  input: EmbeddingInput,
  field: string,
  words: Words,
  { maxTokens, truncate }: Limits,
): Promise<ReadText> {
  const isText = typeof input === 'string';
  const tokens = isText ? await words.tokenizeAside(input, { addSpecial: true }) : checkedTokens(input, field, words);
  if (tokens.length === 0) {
    throw new AppError('invalid-field', { field, expected: 'something that has at least one token' });
  }
  if (tokens.length <= maxTokens) return { tokens, truncated: false };
  if (!truncate) throw tooLong(field, tokens.length, maxTokens);
  return {
    tokens: isText ? cutBefore(tokens, words.around().after, maxTokens) : tokens.slice(0, maxTokens),
    truncated: true,
  };
}

export function tooLong(field: string, tokens: number, mostTokens: number): AppError {
  return new AppError('input-too-long', { field, tokens, mostTokens });
}

/** What the model wants at the end of a text stays there. */
export function cutBefore(tokens: Int32Array, end: Int32Array, maxTokens: number): Int32Array {
  const kept = Math.max(0, maxTokens - end.length);
  const cut = new Int32Array(Math.min(maxTokens, kept + end.length));
  cut.set(tokens.subarray(0, kept));
  cut.set(end.subarray(0, cut.length - kept), kept);
  return cut;
}

function checkedTokens(tokens: readonly number[], field: string, { size }: Words): Int32Array {
  if (!tokens.every((token) => Number.isInteger(token) && token >= 0 && token < size)) {
    const expected = `made of token numbers of this model, which are whole and below ${size}`;
    throw new AppError('invalid-field', { field, expected });
  }
  return Int32Array.from(tokens);
}
