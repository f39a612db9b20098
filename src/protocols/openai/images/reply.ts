import type { PictureEditor } from '../../../core/pictures.ts';
import type { Drawn } from '../../pictures/drawn.ts';
import { encodedAs } from '../../pictures/pixels.ts';
import { wordCount } from '../../spoken-text.ts';
import type { Question } from './decode.ts';

/** What both the whole answer and its stream say about the pictures. */
export function pictureNotes({ width, height }: Pick<Drawn, 'width' | 'height'>, { format }: Question): object {
  return { background: 'opaque', output_format: format, quality: 'medium', size: `${width}x${height}` };
}

/** In words: the image model tells no tokens. */
export function usageOf({ request }: Question): object {
  const input = wordCount(request.prompt);
  return {
    input_tokens: input,
    output_tokens: 0,
    total_tokens: input,
    input_tokens_details: { image_tokens: 0, text_tokens: input },
  };
}

export async function wholeAnswer(
  drawn: Drawn,
  question: Question,
  { now, editor }: { readonly now: number; readonly editor: PictureEditor },
): Promise<object> {
  const pictures = await Promise.all(drawn.pictures.map(({ png }) => base64Of(png, question, editor)));
  const withUrl = question.fields.response_format === 'url';
  return {
    created: Math.floor(now / 1000),
    data: pictures.map((base64) => ({
      b64_json: base64,
      ...(withUrl ? { url: `data:image/${question.format};base64,${base64}` } : {}),
    })),
    ...pictureNotes(drawn, question),
    usage: usageOf(question),
  };
}

export async function base64Of(png: Uint8Array, { format, quality }: Question, editor: PictureEditor): Promise<string> {
  return Buffer.from(await encodedAs(editor, png, format, quality)).toString('base64');
}
