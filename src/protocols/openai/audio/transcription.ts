import { deflateSync } from 'node:zlib';
import { asAppError } from '../../../core/errors.ts';
import { languageName } from '../../../core/languages.ts';
import type { Segment, TranscriptionEvent, TranscriptionRequest } from '../../../core/transcription.ts';
import type { Call } from '../../../http/call.ts';
import { requestsPadding } from '../../../http/keep-alive.ts';
import { dataFrame } from '../../../http/sse.ts';
import { type DialectContext, ignoredHeader, listHeader, streamReply } from '../../dialect.ts';
import type { ModelEndpoint } from '../../endpoint.ts';
import * as f from '../../fields.ts';
import {
  collectTranscript,
  formOrBody,
  languageFields,
  located,
  recordingFields,
  sentRecording,
  type Transcript,
  transcriptionOf,
  transcriptionOptions,
} from '../../recording.ts';
import { requestContextOf } from '../../request-context.ts';
import { audioRows, audioTask, errorBody, unsupportedField } from '../errors.ts';
import { wholeReply } from '../reply.ts';

const formats = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const;

type Format = (typeof formats)[number];

const readFormat: f.Read<Format> = f.described(
  { enum: formats, default: 'json' },
  f.orElse((value, path) => {
    const text = f.readText(value, path).trim().toLowerCase() || 'json';
    if (text !== 'diarized_json') return f.oneOf(...formats)(text, path);
    throw unsupportedField(path, `there is no speaker diarization; use ${formats.join(', ')}`, 'unsupported_value');
  }, 'json'),
);

const readGranularity: f.Read<readonly string[]> = f.described(
  { type: 'array', items: { enum: ['word', 'segment'] } },
  f.orElse((value, path) => {
    const texts = f.looseTexts(16)(value, path);
    if (texts.every((one) => one === 'word' || one === 'segment')) return texts;
    throw f.wrong(path, 'a list of word, segment, or both');
  }, []),
);

const translationFields = {
  ...recordingFields,
  model: f.withSchema(f.textSchema, f.aside('approximated', 'Any name: the recogniser of the server is used.')),
  response_format: f.honoured(readFormat, 'json, text, srt, verbose_json or vtt; diarized_json is refused.'),
  ...languageFields,
};

const transcriptionFields = {
  ...translationFields,
  timestamp_granularities: f.approximated(readGranularity, 'In verbose_json. The built-in recogniser estimates them.'),
  stream: f.honoured(f.orElse(f.looseFlag, false), 'One delta per sentence.'),
  include: f.ignored('There are no logprobs.'),
  chunking_strategy: f.ignored('Recordings are always split at pauses.'),
  ...f.each(['languages', 'keywords', 'known_speaker_names', 'known_speaker_references'], f.ignored()),
};

type TranscriptionContext = Pick<DialectContext, 'taskServices' | 'startTimer'>;

export const transcriptionEndpoints: readonly ModelEndpoint<TranscriptionContext>[] = [
  ...audioRows<TranscriptionContext>(
    'transcriptions',
    'Speech to text, streamed or whole.',
    (call, context) => answer(call, context, false),
    { ...audioTask, form: {}, fields: transcriptionFields, response: 'transcription' },
  ),
  ...audioRows<TranscriptionContext>(
    'translations',
    'Speech in any language to English text.',
    (call, context) => answer(call, context, true),
    { ...audioTask, form: {}, fields: translationFields, response: 'translation' },
  ),
];

async function answer(call: Call, { taskServices, startTimer }: TranscriptionContext, translate: boolean) {
  const body = await formOrBody(call);
  // Translations are never streamed, and always have segments without words.
  const translated = { timestamp_granularities: [], stream: false };
  const fields = translate
    ? { ...f.readFields(translationFields, body), ...translated }
    : f.readFields(transcriptionFields, body);
  const { response_format: format, timestamp_granularities: granularities } = fields;
  const recording = await sentRecording(call, fields);
  const words = format === 'verbose_json' && granularities.includes('word');
  const service = transcriptionOf(taskServices);
  const requestContext = requestContextOf(call, fields.genkey);
  const request = { ...transcriptionOptions(fields), recording: recording.bytes, translate, words };
  call.watch?.decoded?.(request);
  const events = located(service.transcribe(request, requestContext), recording);
  const headers = ignoredHeader(translate ? translationFields : transcriptionFields, body);
  if (fields.stream) return streamReply(events, encodeTranscription, { headers, requestContext, startTimer });
  const segments = granularities.length === 0 || granularities.includes('segment');
  const isJson = format === 'json' || format === 'verbose_json';
  const encoded = collectTranscript(events).then((transcript) => {
    // Clients would parse a text with the type of JSON.
    const contentType = isJson ? 'application/json' : `text/${format === 'vtt' ? 'vtt' : 'plain'}; charset=utf-8`;
    const text = encoders[format](transcript, () => verbose(transcript, request, segments));
    const warnings = listHeader('x-parley-warnings', transcript.notes);
    return { body: text, headers: { 'content-type': contentType, ...warnings } };
  });
  return wholeReply(encoded, { padded: isJson && requestsPadding(call), headers, startTimer });
}

const encoders: Readonly<Record<Format, (transcript: Transcript, verbose: () => object) => string>> = {
  json: (transcript) => JSON.stringify({ text: transcript.text, usage: usage(transcript) }),
  verbose_json: (_, verbose) => JSON.stringify(verbose()),
  text: ({ text }) => `${text}\n`,
  srt: ({ segments }) => srtText(segments),
  vtt: ({ segments }) => vttText(segments),
};

function usage({ seconds }: Pick<Transcript, 'seconds'>): object {
  return { type: 'duration', seconds: Math.ceil(seconds) };
}

function verbose(transcript: Transcript, request: TranscriptionRequest, segments: boolean): object {
  const { translate, words, temperature } = request;
  return {
    task: translate ? 'translate' : 'transcribe',
    language: languageName(translate ? 'en' : transcript.language),
    duration: rounded(transcript.seconds),
    text: transcript.text,
    ...(segments && { segments: transcript.segments.map((one, id) => segmentBody(one, id, temperature)) }),
    ...(words && { words: transcript.segments.flatMap(wordBodies) }),
    usage: usage(transcript),
  };
}

/** Always all ten keys: clients check for each. What a recogniser does not know is 0 or empty. */
function segmentBody(segment: Segment, id: number, temperature: number): object {
  const { start, end, text, tokens = [], averageLogprob = 0, noSpeechProbability = 0 } = segment;
  const bytes = Buffer.from(text);
  return {
    id,
    seek: Math.round(start * 100),
    start: rounded(start),
    end: rounded(end),
    text,
    tokens,
    temperature,
    avg_logprob: averageLogprob,
    // High if a recogniser repeats itself.
    compression_ratio: rounded(bytes.length / deflateSync(bytes).length),
    no_speech_prob: noSpeechProbability,
  };
}

function wordBodies({ words = [] }: Segment): readonly object[] {
  return words.map(({ word, start, end }) => ({ word, start: rounded(start), end: rounded(end) }));
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** SubRip: numbered from 1, with a comma before the thousandths. */
export function srtText(segments: readonly Segment[]): string {
  return segments.map((segment, index) => `${index + 1}\n${cue(segment, ',')}`).join('');
}

export function vttText(segments: readonly Segment[]): string {
  return `WEBVTT\n\n${segments.map((segment) => cue(segment, '.')).join('')}`;
}

/** A blank line in the text would end the cue, and an arrow would start another. */
function cue({ start, end, text }: Segment, point: ',' | '.'): string {
  const safe = text
    .trim()
    .replace(/\n\s*\n/g, '\n')
    .replaceAll('-->', '->');
  return `${clock(start, point)} --> ${clock(Math.max(start, end), point)}\n${safe}\n\n`;
}

function clock(seconds: number, point: string): string {
  const thousandths = Math.max(0, Math.round(seconds * 1000));
  const part = (unit: number, size: number, digits: number): string =>
    String(Math.floor(thousandths / unit) % size).padStart(digits, '0');
  const hours = part(3_600_000, Number.POSITIVE_INFINITY, 2);
  return `${hours}:${part(60_000, 60, 2)}:${part(1000, 60, 2)}${point}${part(1, 1000, 3)}`;
}

const frame = (value: object): string => dataFrame(JSON.stringify(value));

/** A piece for each segment; together they are exactly the text at the end. */
export async function* encodeTranscription(events: AsyncIterable<TranscriptionEvent>): AsyncGenerator<string> {
  let text = '';
  try {
    for await (const event of events) {
      if (event.type === 'segment') {
        const before = text.trim();
        text += event.segment.text;
        const delta = text.trim().slice(before.length);
        if (delta !== '') yield frame({ type: 'transcript.text.delta', delta });
      } else if (event.type === 'finish') {
        const warnings = event.notes.length > 0 ? { warnings: event.notes } : {};
        yield frame({ type: 'transcript.text.done', text: text.trim(), usage: usage(event), ...warnings });
      }
    }
  } catch (error) {
    yield frame(errorBody(asAppError(error)));
  }
  yield dataFrame('[DONE]');
}
