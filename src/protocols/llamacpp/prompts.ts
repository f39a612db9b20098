import { AppError } from '../../core/errors.ts';
import type { TextService } from '../../core/text-service.ts';
import { isAbsent, isObject } from '../controls/fields.ts';
import { refuseMedia } from '../dialect.ts';
import { isTokenId } from './fields.ts';

/** One prompt as it was sent: texts and token numbers in their order. */
export type PromptPieces = readonly (string | number)[];

/**
 * The forms of a prompt: a text, a list of token numbers, a list that mixes both, an object with a text and media, or a
 * list of any of these, which asks for one reply each. A list of texts alone is such a list.
 */
export function decodePrompts(value: unknown): readonly PromptPieces[] {
  if (!Array.isArray(value)) return [onePrompt(value)];
  if (value.length === 0) throw refusal('something: the list is empty');
  return value.some((entry) => typeof entry === 'number') ? [onePrompt(value)] : value.map(onePrompt);
}

/** Pieces of a text that may hold token numbers between its words. */
export function readPieces(value: unknown, field: string): PromptPieces {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string' || isTokenId(entry))) return value;
  throw new AppError('invalid-field', { field, expected: 'a text, or an array of texts and token numbers' });
}

/** The engine reads text and puts the first token there itself, so that a first token in the list is left out. */
export async function promptText(pieces: PromptPieces, text: TextService): Promise<string> {
  if (pieces.every((piece) => typeof piece === 'string')) return pieces.join('');
  const [first] = await text.tokenize('', { addSpecial: true });
  const rest = first !== undefined && pieces[0] === first ? pieces.slice(1) : pieces;
  const words = await Promise.all(
    runs(rest).map((run) => (typeof run === 'string' ? run : text.detokenize(run, { renderSpecial: true }))),
  );
  return words.join('');
}

function onePrompt(value: unknown): PromptPieces {
  if (isObject(value)) {
    if (!isAbsent(value.multimodal_data) && (value.multimodal_data as unknown[]).length !== 0) {
      throw refuseMedia('image', 'multimodal_data');
    }
    return readPieces(value.prompt_string, 'prompt_string');
  }
  return readPieces(value, 'prompt');
}

/** Neighbouring token numbers belong together: a character may be spread over several of them. */
function runs(pieces: PromptPieces): readonly (string | readonly number[])[] {
  const found: (string | number[])[] = [];
  for (const piece of pieces) {
    const last = found.at(-1);
    if (typeof piece === 'string') found.push(piece);
    else if (Array.isArray(last)) last.push(piece);
    else found.push([piece]);
  }
  return found;
}

function refusal(expected: string): AppError {
  return new AppError('invalid-field', { field: 'prompt', expected });
}
