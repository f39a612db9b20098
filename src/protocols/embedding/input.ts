import type { EmbeddingInput } from '../../core/embedding.ts';
import { described, isTokenId, promptsSchema, type Read, wrong } from '../fields.ts';

/** The limit of the OpenAI API. */
export const mostInputs = 2048;

const forms = 'a string, an array of strings, an array of token numbers, or an array of such arrays';

/** All forms of inputs, also mixed in one list. Empty inputs are refused. */
export const readInputs: Read<readonly EmbeddingInput[]> = described(promptsSchema, (value, path) => {
  if (typeof value === 'string') return [notEmpty(value, path)];
  if (!Array.isArray(value)) throw wrong(path, forms);
  if (value.length === 0) throw wrong(path, `${forms}, and not empty`);
  if (value.every((entry) => typeof entry === 'number')) return [tokensOf(value, path)];
  if (value.length > mostInputs) throw wrong(path, `an array of at most ${mostInputs} inputs`);
  return value.map((entry, index) => readOne(entry, `${path}[${index}]`, path));
});

function readOne(entry: unknown, place: string, path: string): EmbeddingInput {
  if (typeof entry === 'string') return notEmpty(entry, place);
  if (!Array.isArray(entry)) throw wrong(path, forms);
  return tokensOf(entry, place);
}

function notEmpty(text: string, place: string): string {
  if (text === '') throw wrong(place, 'a text that is not empty');
  return text;
}

function tokensOf(list: readonly unknown[], place: string): readonly number[] {
  if (list.length === 0 || !list.every(isTokenId))
    throw wrong(place, 'made of token numbers, which are whole and not negative');
  return list;
}
