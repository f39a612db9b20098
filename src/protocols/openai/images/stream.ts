import { asAppError } from '../../../core/errors.ts';
import type { ImageEvent } from '../../../core/image.ts';
import type { PictureEditor } from '../../../core/pictures.ts';
import { dataFrame, namedFrame } from '../../../http/sse.ts';
import { errorBody } from '../errors.ts';
import type { Question } from './decode.ts';
import { base64Of, pictureNotes, usageOf } from './reply.ts';

export interface StreamParts {
  readonly question: Question;
  readonly kind: 'image_generation' | 'image_edit';
  readonly now: () => number;
  readonly editor: PictureEditor;
}

/** Pictures on the way, as many as are wanted of each, and each picture when it is done. */
export async function* encodeImages(
  events: AsyncIterable<ImageEvent>,
  { question, kind, now, editor }: StreamParts,
): AsyncGenerator<string> {
  const notes = pictureNotes(question.request, question);
  let shown = 0;
  const frame = async (name: string, png: Uint8Array, more: object): Promise<string> => {
    const type = `${kind}.${name}`;
    const base64 = await base64Of(png, question, editor);
    const told = { type, b64_json: base64, ...more, created_at: Math.floor(now() / 1000), ...notes };
    return namedFrame(type, JSON.stringify(told));
  };
  try {
    for await (const event of events) {
      if (event.type === 'progress' && event.preview && shown < question.partials && event.step < event.steps) {
        yield await frame('partial_image', event.preview, { partial_image_index: shown });
        shown += 1;
      } else if (event.type === 'picture') {
        shown = 0;
        yield await frame('completed', event.png, { usage: usageOf(question) });
      }
    }
  } catch (error) {
    yield dataFrame(JSON.stringify(errorBody(asAppError(error))));
  }
}
