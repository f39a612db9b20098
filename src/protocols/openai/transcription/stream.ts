import { asAppError } from '../../../core/errors.ts';
import type { TranscriptionEvent } from '../../../core/transcription.ts';
import { dataFrame } from '../../../http/sse.ts';
import { errorBody } from '../errors.ts';
import { usage } from './reply.ts';

const frame = (value: object): string => dataFrame(JSON.stringify(value));
const done = dataFrame('[DONE]');

/** A piece for each segment; together they are exactly the text at the end. */
export async function* encodeTranscription(events: AsyncIterable<TranscriptionEvent>): AsyncGenerator<string> {
  let heard = '';
  try {
    for await (const event of events) {
      if (event.type === 'segment') {
        const before = heard.trim();
        heard += event.segment.text;
        const delta = heard.trim().slice(before.length);
        if (delta !== '') yield frame({ type: 'transcript.text.delta', delta });
      } else if (event.type === 'finish') {
        const warnings = event.notes.length > 0 ? { warnings: event.notes } : {};
        yield frame({ type: 'transcript.text.done', text: heard.trim(), usage: usage(event), ...warnings });
      }
    }
  } catch (error) {
    yield frame(errorBody(asAppError(error)));
  }
  yield done;
}
