import { asAppError } from '../../core/errors.ts';
import type { TaskServices } from '../../core/task-services.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { paddedReply, requestsPadding } from '../../http/keep-alive.ts';
import type { StartTimer } from '../../http/timers.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { fidelityOf, readFields } from '../fields/table.ts';
import { recordingBody, sentRecording } from '../recording.ts';
import { languageFields, recordingFields, wishesOf } from '../recording-fields.ts';
import { ticketFor } from '../ticket.ts';
import { collectTranscript, located, transcriptionOf } from '../transcription.ts';
import { errorType, nativeFamily } from './errors.ts';

const transcribeFields = { ...recordingFields, ...languageFields };

export const transcribeFidelity = fidelityOf('Native', 'POST /api/extra/transcribe', transcribeFields);

export interface TranscribeParts {
  readonly others?: TaskServices;
  readonly startTimer: StartTimer;
}

export const transcribeEndpoint: ModelEndpoint<TranscribeParts> = {
  method: 'POST',
  match: 'ending',
  path: '/api/extra/transcribe',
  access: 'guarded',
  queued: true,
  modelSelection: 'any-name',
  form: {},
  summary: 'Speech to text.',
  family: nativeFamily,
  handle: answer,
};

async function answer(call: Call, { others, startTimer }: TranscribeParts): Promise<Reply> {
  const fields = readFields(transcribeFields, await recordingBody(call));
  const service = transcriptionOf(others);
  const recording = await sentRecording(call, fields);
  const request = {
    ...wishesOf(fields),
    recording: recording.bytes,
    fileName: recording.fileName,
    translate: false,
    words: false,
  };
  const transcript = collectTranscript(located(service.transcribe(request, ticketFor(call, fields.genkey)), recording));
  const whole = transcript.then(({ text, notes }) => ({ text, ...(notes.length > 0 ? { warnings: notes } : {}) }));
  if (!requestsPadding(call)) return json(await whole);
  return paddedReply(
    whole.then((all) => JSON.stringify(all)),
    failure,
    startTimer,
  );
}

function failure(thrown: unknown): string {
  const error = asAppError(thrown);
  return JSON.stringify({ text: '', detail: { msg: error.message, type: errorType(error) } });
}
