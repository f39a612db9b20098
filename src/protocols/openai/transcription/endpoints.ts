import { asAppError } from '../../../core/errors.ts';
import { ignoredFields } from '../../../core/fidelity.ts';
import type { Call, Headers, Reply } from '../../../http/call.ts';
import { paddedReply, requestsPadding } from '../../../http/keep-alive.ts';
import { commentFrame, sseHeaders } from '../../../http/sse.ts';
import { type DialectParts, headerList, ignoredHeader, workStream } from '../../dialect.ts';
import type { ModelEndpoint } from '../../endpoint.ts';
import { collectTranscript, located, recordingBody, type Transcript, transcriptionOf } from '../../recording.ts';
import { ticketFor } from '../../ticket.ts';
import { errorBody, openaiFamily } from '../errors.ts';
import { decodeTranscription, decodeTranslation } from './decode.ts';
import { transcriptionFidelity, translationFidelity } from './fields.ts';
import { writeTranscript } from './reply.ts';
import { encodeTranscription } from './stream.ts';

export type TranscriptionParts = Pick<DialectParts, 'others' | 'startTimer'>;

const guarded = {
  method: 'POST',
  match: 'ending',
  access: 'guarded',
  queued: true,
  modelSelection: 'any-name',
  form: {},
} as const;

export const transcriptionEndpoints: readonly ModelEndpoint<TranscriptionParts>[] = [
  {
    ...guarded,
    path: '/audio/transcriptions',
    summary: 'Speech to text, streamed or whole.',
    family: openaiFamily,
    handle: (call, parts) => answer(call, 'transcribe', parts),
  },
  {
    ...guarded,
    path: '/audio/translations',
    summary: 'Speech in any language to English text.',
    family: openaiFamily,
    handle: (call, parts) => answer(call, 'translate', parts),
  },
];

const tasks = {
  transcribe: { decode: decodeTranscription, fidelity: transcriptionFidelity },
  translate: { decode: decodeTranslation, fidelity: translationFidelity },
} as const;

async function answer(
  call: Call,
  task: keyof typeof tasks,
  { others, startTimer }: TranscriptionParts,
): Promise<Reply> {
  const body = await recordingBody(call);
  const question = await tasks[task].decode(call, body);
  const service = transcriptionOf(others);
  const ticket = ticketFor(call, question.genkey);
  const events = located(service.transcribe(question.request, ticket), question.recording);
  const headers = ignoredHeader(ignoredFields(body, tasks[task].fidelity));
  if (question.stream) {
    const stream = { headers: { ...sseHeaders, ...headers }, filler: commentFrame('keepalive'), ticket, startTimer };
    return workStream(events, encodeTranscription, stream);
  }
  const transcript = collectTranscript(events);
  const written = transcript.then((all) => writeTranscript(all, question));
  const isJson = question.format === 'json' || question.format === 'verbose_json';
  if (isJson && requestsPadding(call)) {
    const text = written.then((all) => all.body);
    const reply = await paddedReply(text, (error) => JSON.stringify(errorBody(asAppError(error))), startTimer);
    return { ...reply, headers: { ...reply.headers, ...headers } };
  }
  const { contentType, body: text } = await written;
  const told = { 'content-type': contentType, ...headers, ...noteHeaders(await transcript) };
  return { status: 200, headers: told, body: text };
}

function noteHeaders({ notes }: Transcript): Headers {
  return notes.length > 0 ? { 'x-parley-warnings': headerList(notes) } : {};
}
