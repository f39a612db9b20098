import { mediumPlaceholder } from '../../chat/messages.ts';
import type { Medium } from '../../core/request.ts';
import type { TextService, TextState } from '../../core/text-service.ts';
import { described, isAbsent, isObject, isTokenId, type Read, wrong } from '../fields/readers.ts';
import { textOrNumber, textSchema } from '../fields/schemas.ts';
import { Attachments } from '../media.ts';

/** One prompt as it was sent: texts and token numbers in their order. */
export type PromptPieces = readonly (string | number)[];

/** A prompt whose marks of media have become places that the engine knows. */
export interface SentPrompt {
  readonly pieces: PromptPieces;
  readonly media: readonly Medium[];
}

/** Stands in a text where a picture or a sound is to be. */
export const mediaMarker = '<__media__>';

/**
 * The forms of a prompt: a text, a list of token numbers, a list that mixes both, an object with a text and media, or a
 * list of any of these, which asks for one reply each. A list of texts alone is such a list.
 */
export function decodePrompts(value: unknown, state: TextState): readonly SentPrompt[] {
  const one = (entry: unknown): SentPrompt => onePrompt(entry, state);
  if (!Array.isArray(value)) return [one(value)];
  if (value.length === 0) throw wrong('prompt', 'something: the list is empty');
  return value.some((entry) => typeof entry === 'number') ? [one(value)] : value.map(one);
}

/** Pieces of a text that may hold token numbers between its words. */
export const readPieces: Read<PromptPieces> = described(
  { anyOf: [textSchema, { type: 'array', items: textOrNumber }] },
  (value, path) => {
    if (typeof value === 'string') return [value];
    if (Array.isArray(value) && value.every((entry) => typeof entry === 'string' || isTokenId(entry))) return value;
    throw wrong(path, 'a text, or an array of texts and token numbers');
  },
);

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

function onePrompt(value: unknown, state: TextState): SentPrompt {
  if (!isObject(value)) return { pieces: readPieces(value, 'prompt'), media: [] };
  const pieces = readPieces(value.prompt_string, 'prompt_string');
  const media = decodeMedia(value.multimodal_data, state);
  return { pieces: media.length > 0 ? withPlaces(pieces, media) : pieces, media };
}

/** Whether one is a picture or a sound is told by its bytes alone. */
function decodeMedia(value: unknown, state: TextState): readonly Medium[] {
  const field = 'multimodal_data';
  if (isAbsent(value)) return [];
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) {
    throw wrong(field, 'an array of base64 strings');
  }
  const attachments = new Attachments(state, { addresses: false });
  for (const [index, data] of value.entries()) attachments.add({ kind: undefined, data, field: `${field}[${index}]` });
  return attachments.inline();
}

/** The first mark is the place of the first medium, and so on; a mark too many or too few would move all the others. */
function withPlaces(pieces: PromptPieces, media: readonly Medium[]): PromptPieces {
  let next = 0;
  const placed = pieces.map((piece) =>
    typeof piece === 'number' ? piece : piece.replaceAll(mediaMarker, () => mediumPlaceholder(media, next++).trim()),
  );
  if (next === media.length) return placed;
  const expected = `a text with the mark ${mediaMarker} once for each of the ${media.length} media, and it has ${next}`;
  throw wrong('prompt_string', expected);
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
