import { deflateSync } from 'node:zlib';
import { languageName } from '../../../core/languages.ts';
import type { Segment } from '../../../core/transcription.ts';
import type { Transcript } from '../../recording.ts';
import type { TranscriptionQuestion } from './decode.ts';
import { srtText, vttText } from './subtitles.ts';

export interface Written {
  readonly contentType: string;
  readonly body: string;
}

/** The whole answer in the form that was asked for. Texts must not be called JSON: clients would parse them. */
export function writeTranscript(transcript: Transcript, question: TranscriptionQuestion): Written {
  switch (question.format) {
    case 'json':
      return asJson({ text: transcript.text, usage: usage(transcript) });
    case 'verbose_json':
      return asJson(verbose(transcript, question));
    case 'text':
      return { contentType: 'text/plain; charset=utf-8', body: `${transcript.text}\n` };
    case 'srt':
      return { contentType: 'text/plain; charset=utf-8', body: srtText(transcript.segments) };
    case 'vtt':
      return { contentType: 'text/vtt; charset=utf-8', body: vttText(transcript.segments) };
  }
}

export function usage({ seconds }: Pick<Transcript, 'seconds'>): object {
  return { type: 'duration', seconds: Math.ceil(seconds) };
}

function verbose(transcript: Transcript, { request, segments }: TranscriptionQuestion): object {
  const { text, seconds } = transcript;
  return {
    task: request.translate ? 'translate' : 'transcribe',
    language: languageName(request.translate ? 'en' : transcript.language),
    duration: rounded(seconds),
    text,
    ...(segments ? { segments: transcript.segments.map((one, id) => segmentBody(one, id, request.temperature)) } : {}),
    ...(request.words ? { words: transcript.segments.flatMap(wordBodies) } : {}),
    usage: usage(transcript),
  };
}

/** All ten keys, always: clients check for each. What a recogniser does not know is 0 or empty. */
function segmentBody(segment: Segment, id: number, temperature: number): object {
  const { start, end, text, tokens = [], averageLogprob = 0, noSpeechProbability = 0 } = segment;
  return {
    id,
    seek: Math.round(start * 100),
    start: rounded(start),
    end: rounded(end),
    text,
    tokens,
    temperature,
    avg_logprob: averageLogprob,
    compression_ratio: compressionRatio(text),
    no_speech_prob: noSpeechProbability,
  };
}

function wordBodies({ words = [] }: Segment): readonly object[] {
  return words.map(({ word, start, end }) => ({ word, start: rounded(start), end: rounded(end) }));
}

/** High where a recogniser repeats itself. */
function compressionRatio(text: string): number {
  const bytes = Buffer.from(text);
  return rounded(bytes.length / deflateSync(bytes).length);
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function asJson(value: object): Written {
  return { contentType: 'application/json', body: JSON.stringify(value) };
}
