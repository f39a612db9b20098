import { mediumPlaceholder } from '../../chat/messages.ts';
import type { Medium } from '../../core/request.ts';
import type { FillMarks, TextService, TextState } from '../../core/text-service.ts';
import * as f from '../fields.ts';
import { gapPrompt } from '../fill-marks.ts';
import { Attachments } from '../media.ts';
import type { gapFields } from './fields.ts';

/** One prompt as it was sent: texts and token numbers in their order. */
type PromptPieces = readonly (string | number)[];

/** A prompt whose media markers are replaced by the placeholders of the engine. */
interface SentPrompt {
  readonly pieces: PromptPieces;
  readonly media: readonly Medium[];
}

/** The position of an image or a sound in a text. */
export const mediaMarker = '<__media__>';

/** A prompt is a text, a list with token numbers, or an object with a text and media. A list without numbers is several. */
export function decodePrompts(value: unknown, state: TextState): readonly SentPrompt[] {
  const one = (entry: unknown): SentPrompt => onePrompt(entry, state);
  if (!Array.isArray(value)) return [one(value)];
  if (value.length === 0) throw f.wrong('prompt', 'something: the list is empty');
  return value.some((entry) => typeof entry === 'number') ? [one(value)] : value.map(one);
}

/** Pieces of a text that may hold token numbers between its words. */
export const readPieces: f.Read<PromptPieces> = f.described(
  { anyOf: [f.textSchema, { type: 'array', items: f.textOrNumber }] },
  (value, path) => {
    if (typeof value === 'string') return [value];
    if (Array.isArray(value) && value.every((entry) => typeof entry === 'string' || f.isTokenId(entry))) return value;
    throw f.wrong(path, 'a text, or an array of texts and token numbers');
  },
);

/** The engine adds the first token itself, so it is left out if the list begins with it. */
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
  if (!f.isObject(value)) return { pieces: readPieces(value, 'prompt'), media: [] };
  const pieces = readPieces(value.prompt_string, 'prompt_string');
  const attachments = new Attachments(state, { addresses: false });
  for (const [index, data] of readMedia(value.multimodal_data, 'multimodal_data').entries()) {
    attachments.add({ kind: undefined, data, field: `multimodal_data[${index}]` });
  }
  const media = attachments.inline();
  return { pieces: media.length > 0 ? withPlaceholders(pieces, media) : pieces, media };
}

const readMedia = f.orElse(f.textList('an array of base64 strings'), []);

/** The first marker is for the first medium, and so on: their numbers must be equal. */
function withPlaceholders(pieces: PromptPieces, media: readonly Medium[]): PromptPieces {
  let next = 0;
  const placed = pieces.map((piece) =>
    typeof piece === 'number' ? piece : piece.replaceAll(mediaMarker, () => mediumPlaceholder(media, next++).trim()),
  );
  if (next === media.length) return placed;
  const expected = `a text with the mark ${mediaMarker} once for each of the ${media.length} media, and it has ${next}`;
  throw f.wrong('prompt_string', expected);
}

/** Neighbouring token numbers are detokenized together: a character may have several tokens. */
function runs(pieces: PromptPieces): readonly (string | readonly number[])[] {
  const joined: (string | number[])[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (typeof piece === 'string') joined.push(piece);
    else if (Array.isArray(last)) last.push(piece);
    else joined.push([piece]);
  }
  return joined;
}

/** How many tokens around the gap are used: three quarters before it, one quarter after it. */
const maxWindow = 2048;
/** For the marks, and the names of the project and the file. */
const marksLength = 32;
const separatorWithoutMark = '\n\n--- snippet ---\n\n';

/** The prompt for the gap between `input_prefix` and `input_suffix`; `prompt` is the beginning of its text. */
export async function infillPrompt(
  fields: f.Fields<typeof gapFields>,
  maxTokens: number,
  { marks, text }: { readonly marks: FillMarks; readonly text: TextService },
): Promise<string> {
  const { input_prefix: prefix, input_suffix: suffix, prompt: beginning, input_extra: files } = fields;
  const context = text.contextSize();
  const window = Math.min(maxWindow, Math.floor(context / 2));
  // A reply of the default length would leave no space for other files; no token is shorter than a byte.
  const reply = Math.min(maxTokens, Math.floor(context / 4)) + Buffer.byteLength(beginning) + marksLength;
  const room = Math.max(0, context - window - reply);
  const extras = files.map((file) =>
    marks.file === undefined ? `${separatorWithoutMark}${file.text}` : `${marks.file}${file.name}\n${file.text}\n`,
  );
  const [before, behind, extra] = await Promise.all([
    cut(prefix, -Math.floor((window * 3) / 4), text),
    cut(suffix, Math.floor(window / 4), text),
    cut(extras.join(''), -room, text),
  ]);
  const project = marks.repository === undefined ? '' : `${marks.repository}myproject\n`;
  const file = marks.repository !== undefined && marks.file !== undefined ? `${marks.file}filename\n` : '';
  return `${project}${extra}${file}${gapPrompt(marks, before, behind)}${beginning}`;
}

/** The first tokens of a text, or with a negative count the last ones. */
async function cut(part: string, count: number, text: TextService): Promise<string> {
  const max = Math.abs(count);
  // No token is shorter than a byte: such a text surely fits.
  if (Buffer.byteLength(part) <= max) return part;
  const tokens = await text.tokenize(part, { addSpecial: false });
  if (tokens.length <= max) return part;
  const slice = count > 0 ? tokens.slice(0, max) : tokens.slice(tokens.length - max);
  return text.detokenize(slice, { renderSpecial: true });
}
