import type { FillMarks, TextService } from '../../core/text-service.ts';
import type { Fields } from '../fields/table.ts';
import { gapPrompt } from '../fill-marks.ts';
import type { gapFields } from './fields.ts';

interface ExtraFile {
  readonly name: string;
  readonly text: string;
}

/** How many tokens around the gap are worth reading: three quarters of them before it, one behind. */
const widestWindow = 2048;
/** Enough for the marks, and for the names of the project and of the file. */
const marksLength = 32;
const separatorWithoutMark = '\n\n--- snippet ---\n\n';

/** The prompt for the gap between `input_prefix` and `input_suffix`; `prompt` is what already stands in the gap. */
export async function infillPrompt(
  fields: Fields<typeof gapFields>,
  maxTokens: number,
  { marks, text }: { readonly marks: FillMarks; readonly text: TextService },
): Promise<string> {
  const { input_prefix: prefix, input_suffix: suffix, prompt: beginning, input_extra: files } = fields;
  const context = text.contextSize();
  const window = Math.min(widestWindow, Math.floor(context / 2));
  // A reply of the default length would leave no room for other files; no token is shorter than a byte.
  const reply = Math.min(maxTokens, Math.floor(context / 4)) + Buffer.byteLength(beginning) + marksLength;
  const room = Math.max(0, context - window - reply);
  const [before, behind, extra] = await Promise.all([
    lastTokens(prefix, Math.floor((window * 3) / 4), text),
    firstTokens(suffix, Math.floor(window / 4), text),
    lastTokens(extraText(files, marks), room, text),
  ]);
  const project = marks.repository === undefined ? '' : `${marks.repository}myproject\n`;
  const file = marks.repository !== undefined && marks.file !== undefined ? `${marks.file}filename\n` : '';
  return `${project}${extra}${file}${gapPrompt(marks, before, behind)}${beginning}`;
}

function extraText(files: readonly ExtraFile[], { file }: FillMarks): string {
  return files
    .map(({ name, text }) => (file === undefined ? `${separatorWithoutMark}${text}` : `${file}${name}\n${text}\n`))
    .join('');
}

async function lastTokens(words: string, count: number, text: TextService): Promise<string> {
  return cut(words, count, text, (tokens) => tokens.slice(Math.max(0, tokens.length - count)));
}

async function firstTokens(words: string, count: number, text: TextService): Promise<string> {
  return cut(words, count, text, (tokens) => tokens.slice(0, count));
}

/** A text that surely fits, as no token is shorter than a byte, needs no look at its tokens. */
async function cut(
  words: string,
  count: number,
  text: TextService,
  keep: (tokens: readonly number[]) => readonly number[],
): Promise<string> {
  if (Buffer.byteLength(words) <= count) return words;
  const tokens = await text.tokenize(words, { addSpecial: false });
  return tokens.length <= count ? words : text.detokenize(keep(tokens), { renderSpecial: true });
}
