import type { RequestContext } from './request-context.ts';
import type { SentFields } from './sent-fields.ts';

export interface TranscriptionRequest {
  /** The file, in any readable format. */
  readonly recording: Uint8Array;
  /** Two-letter code; undefined to detect it. */
  readonly language: string | undefined;
  /** Into English. */
  readonly translate: boolean;
  /** Preceding text, for names and spellings. */
  readonly prompt: string;
  readonly temperature: number;
  /** With word timestamps. */
  readonly words: boolean;
  /** Omits laughter, music and noise. */
  readonly suppressNonSpeech: boolean;
}

export interface TimedWord {
  readonly word: string;
  /** Seconds from the beginning. */
  readonly start: number;
  readonly end: number;
}

export interface Segment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly words?: readonly TimedWord[];
  readonly tokens?: readonly number[];
  readonly averageLogprob?: number;
  readonly noSpeechProbability?: number;
}

export type TranscriptionEvent =
  /** The recording is decoded. */
  | { readonly type: 'start'; readonly seconds: number }
  | { readonly type: 'progress'; readonly fraction: number }
  | { readonly type: 'segment'; readonly segment: Segment }
  | {
      readonly type: 'finish';
      readonly seconds: number;
      readonly language: string;
      /** What differs from the request, as sentences. */
      readonly notes: readonly string[];
    };

export interface TranscriptionFacts {
  readonly name: string;
  /** Two-letter codes. */
  readonly languages: readonly string[];
  readonly translates: boolean;
}

export interface TranscriptionService {
  readonly name: string;
  /** Two-letter codes; undefined while they are not known. */
  languages?(): readonly string[] | undefined;
  transcribe(request: TranscriptionRequest, context: RequestContext): AsyncIterable<TranscriptionEvent>;
  /** Loads the engine ahead of the first request. */
  warm?(signal: AbortSignal): Promise<void>;
}

export interface TranscriptionEngine {
  /** Undefined until it is loaded. */
  facts(): TranscriptionFacts | undefined;
  transcribe(request: TranscriptionRequest, signal: AbortSignal, sent?: SentFields): AsyncIterable<TranscriptionEvent>;
}

declare module './task-services.ts' {
  interface TaskServices {
    readonly transcription?: TranscriptionService;
  }
}
