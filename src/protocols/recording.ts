import { readFile } from 'node:fs/promises';
import { AppError } from '../core/errors.ts';
import { languageCode } from '../core/languages.ts';
import type { TaskServices } from '../core/task-services.ts';
import type { Segment, TranscriptionEvent, TranscriptionService } from '../core/transcription.ts';
import type { JsonObject } from '../http/body.ts';
import type { Call } from '../http/call.ts';
import { readGenkey } from './controls/table.ts';
import { bodyOf } from './endpoint.ts';
import * as f from './fields.ts';
import { bodyOfForm } from './form-body.ts';
import { inlineBase64 } from './media.ts';

interface SentRecording {
  readonly bytes: Uint8Array;
  /** The field it came in, for errors. */
  readonly field: string;
}

/** The fields of a request that is a form or JSON. */
export async function formOrBody(call: Call): Promise<JsonObject> {
  return call.form ? bodyOfForm(call.form) : bodyOf(call);
}

/** Base64 in a field, as it is or as a data URL; an empty one is none. */
export const readInlineRecording: f.Read<Uint8Array | undefined> = f.described(
  f.base64Schema,
  f.optional((value, path) => {
    const text = f.readText(value, path);
    return text === '' ? undefined : Buffer.from(inlineBase64(text, path, 'a recording').base64, 'base64');
  }),
);

/** The recording itself: the file of a form, or what a field holds. */
export async function sentRecording(
  { form, signal }: Call,
  fields: { readonly file: Uint8Array | undefined; readonly audio_data: Uint8Array | undefined },
): Promise<SentRecording> {
  const files = form?.files ?? [];
  const file = files.find(({ field }) => /^(?:file|audio_data)(?:\[\])?$/.test(field)) ?? files[0];
  if (file) return { bytes: await readFile(file.path, { signal }), field: file.field };
  if (fields.file) return { bytes: fields.file, field: 'file' };
  if (fields.audio_data) return { bytes: fields.audio_data, field: 'audio_data' };
  throw f.wrong('file', 'a recording');
}

/** The decoder knows the recording as `file`; the error gets the field of the client. */
export function locateRecording(error: unknown, { field }: SentRecording): unknown {
  if (!(error instanceof AppError) || field === 'file') return error;
  const details = error.details as { readonly field?: string };
  if (details.field !== 'file') return error;
  return new AppError(error.code, { ...details, field } as never, { cause: error });
}

const taker = 'Passed on to Whisper models (--whispermodel, the pack ears); where it has no effect, a warning says so.';

const readTemperature: f.Read<number> = f.described(
  { type: 'number', default: 0 },
  f.orElse((value, path) => f.clamp(f.looseNumber(value, path), 0, 1), 0),
);

/** The fields that all dialects have. Forms have only texts, so numbers and switches are read from texts. */
export const recordingFields = {
  file: f.honoured(
    readInlineRecording,
    'A file of a form, or base64 (also as a data URL). WAV, MP3, FLAC, Ogg and WebM, known by their bytes; AAC and M4A where ffmpeg is installed. Up to 3 hours.',
  ),
  audio_data: f.honoured(readInlineRecording, 'Another name of file.'),
  prompt: f.approximated(f.orElse(f.readText, ''), taker),
  temperature: f.approximated(readTemperature, `Moved into 0 to 1. ${taker}`),
  suppress_non_speech: f.approximated(f.orElse(f.looseFlag, false), 'What is no speech is mostly left out anyway.'),
  genkey: f.honoured(readGenkey),
};

const readLanguage: f.Read<string | undefined> = f.described(
  f.textSchema,
  f.optional((value, path) => {
    const text = f.readText(value, path).trim();
    if (text === '' || text.toLowerCase() === 'auto') return undefined;
    const code = languageCode(text);
    if (code === undefined) throw f.wrong(path, 'auto, or a language by its code of two letters or its English name');
    return code;
  }),
);

export const languageFields = {
  language: f.honoured(
    readLanguage,
    'A code, an English name or auto. Refused where the recogniser does not know it; the built-in one hears English.',
  ),
  langcode: f.honoured(readLanguage, 'Another name of language, which it wins over.'),
};

/** The part of the neutral request that these fields make. */
export function transcriptionOptions(
  fields: f.Fields<typeof recordingFields> & Partial<f.Fields<typeof languageFields>>,
) {
  return {
    language: fields.langcode ?? fields.language,
    prompt: fields.prompt,
    temperature: fields.temperature,
    suppressNonSpeech: fields.suppress_non_speech,
  };
}

export function transcriptionOf(taskServices: TaskServices | undefined): TranscriptionService {
  if (taskServices?.transcription) return taskServices.transcription;
  throw new AppError('model-missing', { capability: 'speech-to-text', flag: '--whispermodel FILE' });
}

export type Transcript = Awaited<ReturnType<typeof collectTranscript>>;

export async function collectTranscript(events: AsyncIterable<TranscriptionEvent>) {
  const segments: Segment[] = [];
  let finish: (TranscriptionEvent & { type: 'finish' }) | undefined;
  // Read to the end: to stop reading would stop the work.
  for await (const event of events) {
    if (event.type === 'segment') segments.push(event.segment);
    if (event.type === 'finish') finish = event;
  }
  if (!finish) throw new AppError('stopped', {});
  const { seconds, language, notes } = finish;
  const texts = segments.map(({ text }) => text);
  return { text: texts.join('').trim(), segments, seconds, language, notes };
}

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
