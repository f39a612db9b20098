import type { TranscriptionEngine, TranscriptionService } from '../core/transcription.ts';
import { type TaskParts, tasks } from './tasks.ts';

export function transcriptionService(parts: TaskParts<TranscriptionEngine>): TranscriptionService {
  const { stream } = tasks(parts);
  return {
    name: parts.source.name,
    transcribe: (request, ticket) =>
      stream(ticket, async function* ({ engine, signal, wrote }) {
        let text = '';
        for await (const event of engine.transcribe(request, signal)) {
          if (event.type === 'segment') {
            text += event.segment.text;
            wrote(text);
          }
          yield event;
        }
      }),
  };
}
