import { AppError } from '../core/errors.ts';
import type { TaskServices } from '../core/task-services.ts';
import type { Segment, TranscriptionEvent, TranscriptionService } from '../core/transcription.ts';
import { locateRecording, type SentRecording } from './recording.ts';

export function transcriptionOf(others: TaskServices | undefined): TranscriptionService {
  if (others?.transcription) return others.transcription;
  throw new AppError('model-missing', { capability: 'speech-to-text', flag: '--whispermodel FILE' });
}

/** All that came of a recording. */
export interface Transcript {
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly seconds: number;
  /** A code of two letters. */
  readonly language: string;
  readonly notes: readonly string[];
}

export async function collectTranscript(events: AsyncIterable<TranscriptionEvent>): Promise<Transcript> {
  const segments: Segment[] = [];
  let finish: (TranscriptionEvent & { type: 'finish' }) | undefined;
  // Read to the end: whoever stops reading before stops the work.
  for await (const event of events) {
    if (event.type === 'segment') segments.push(event.segment);
    if (event.type === 'finish') finish = event;
  }
  if (!finish) throw new AppError('stopped', {});
  const { seconds, language, notes } = finish;
  return { text: textOf(segments), segments, seconds, language, notes };
}

function textOf(segments: readonly Segment[]): string {
  return segments
    .map(({ text }) => text)
    .join('')
    .trim();
}

/** What is wrong with the recording is told by the name that the client has for it. */
export async function* located(
  events: AsyncIterable<TranscriptionEvent>,
  recording: SentRecording,
): AsyncGenerator<TranscriptionEvent> {
  try {
    yield* events;
  } catch (error) {
    throw locateRecording(error, recording);
  }
}
