import type { TranscriptionRequest } from '../../../core/transcription.ts';
import type { JsonObject } from '../../../http/body.ts';
import type { Call } from '../../../http/call.ts';
import { readFields } from '../../fields/table.ts';
import { type SentRecording, sentRecording, wishesOf } from '../../recording.ts';
import { type Format, transcriptionFields, translationFields } from './fields.ts';

export interface TranscriptionQuestion {
  readonly request: TranscriptionRequest;
  readonly recording: SentRecording;
  readonly format: Format;
  readonly stream: boolean;
  /** In `verbose_json`. */
  readonly segments: boolean;
  readonly genkey: string;
}

export async function decodeTranscription(call: Call, body: JsonObject): Promise<TranscriptionQuestion> {
  const fields = readFields(transcriptionFields, body);
  const { response_format: format, timestamp_granularities: granularities, stream, genkey } = fields;
  const recording = await sentRecording(call, fields);
  const words = format === 'verbose_json' && granularities.includes('word');
  const segments = granularities.length === 0 || granularities.includes('segment');
  const request = { ...wishesOf(fields), ...soundOf(recording), translate: false, words };
  return { request, recording, format, stream, segments, genkey };
}

/** From whatever language into English, and never in pieces. */
export async function decodeTranslation(call: Call, body: JsonObject): Promise<TranscriptionQuestion> {
  const fields = readFields(translationFields, body);
  const { response_format: format, genkey } = fields;
  const recording = await sentRecording(call, fields);
  const request = { ...wishesOf(fields), ...soundOf(recording), translate: true, words: false };
  return { request, recording, format, stream: false, segments: true, genkey };
}

function soundOf({ bytes, fileName }: SentRecording): Pick<TranscriptionRequest, 'recording' | 'fileName'> {
  return { recording: bytes, fileName };
}
