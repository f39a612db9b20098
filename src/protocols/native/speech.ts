import { asAppError } from '../../core/errors.ts';
import { speechFormats } from '../../core/speech.ts';
import type { Call, Reply } from '../../http/call.ts';
import { paddedReply, requestsPadding } from '../../http/keep-alive.ts';
import { write } from '../access.ts';
import { type DialectContext, ignoredHeader } from '../dialect.ts';
import { bodyOf, endpointRow, jsonText } from '../endpoint.ts';
import * as f from '../fields.ts';
import {
  collectTranscript,
  formOrBody,
  languageFields,
  located,
  recordingFields,
  sentRecording,
  transcriptionOf,
  transcriptionOptions,
} from '../recording.ts';
import { requestContextOf } from '../request-context.ts';
import { speak, wholeSound } from '../spoken-reply.ts';
import { speedRange, spokenFields } from '../spoken-text.ts';
import { errorType, nativeDialect } from './errors.ts';

export type SpeechContext = Pick<DialectContext, 'taskServices' | 'startTimer'>;

const speechModel = { queued: true, modelSelection: 'any-name' } as const;
const row = endpointRow(write('audio'), { method: 'POST', dialect: nativeDialect, ...speechModel });

const nativeSpeechFields = {
  ...spokenFields,
  response_format: f.honoured(f.knownOr('wav', speechFormats), 'wav, mp3, opus, flac and pcm; wav for all others.'),
  use_mp3: f.honoured(f.orElse(f.looseFlag, false)),
  speed: f.honoured(f.orElse(f.looseNumber, 1), 'Moved into 0.25 to 4.'),
  model: f.ignored(),
  stream: f.ignored('The file is sent whole.'),
};

/** Sent whole: clients of this dialect decode it as one file. */
async function answerSpeech(call: Call, context: Pick<SpeechContext, 'taskServices'>): Promise<Reply> {
  const body = await bodyOf(call);
  const { use_mp3, response_format, speed: sent, ...fields } = f.readFields(nativeSpeechFields, body);
  const format = use_mp3 ? 'mp3' : response_format;
  const speed = f.clamp(sent, speedRange.min, speedRange.max);
  const begun = await speak(call, fields, context, { speed, format, streamed: false });
  return wholeSound(begun, { format, name: 'output', headers: ignoredHeader(nativeSpeechFields, body) });
}

const transcribeFields = { ...recordingFields, ...languageFields };

export const nativeSpeechEndpoint = row('/api/extra/tts', 'A text as speech: wav by default.', answerSpeech, {
  fields: nativeSpeechFields,
  response: 'speech',
});
export const transcribeEndpoint = row('/api/extra/transcribe', 'Speech to text.', transcribe, {
  fields: transcribeFields,
  response: 'transcription',
  form: {},
});

async function transcribe(call: Call, { taskServices, startTimer }: SpeechContext): Promise<Reply> {
  const fields = f.readFields(transcribeFields, await formOrBody(call));
  const service = transcriptionOf(taskServices);
  const recording = await sentRecording(call, fields);
  const request = { ...transcriptionOptions(fields), recording: recording.bytes, translate: false, words: false };
  call.watch?.decoded?.(request);
  const events = service.transcribe(request, requestContextOf(call, fields.genkey));
  const answer = collectTranscript(located(events, recording)).then(({ text, notes }) =>
    JSON.stringify({ text, ...(notes.length > 0 ? { warnings: notes } : {}) }),
  );
  if (requestsPadding(call)) return paddedReply(answer, failure, startTimer);
  return jsonText(await answer);
}

function failure(thrown: unknown): string {
  const error = asAppError(thrown);
  return JSON.stringify({ text: '', detail: { msg: error.message, type: errorType(error) } });
}
