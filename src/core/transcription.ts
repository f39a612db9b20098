import type { Ticket } from './request.ts';

/** A recording that is to become text. */
export interface TranscriptionRequest {
  /** The file as it was sent, in any format that can be read. */
  readonly recording: Uint8Array;
  /** What its name or the client says of its format; the bytes decide. */
  readonly fileName?: string;
  /** A code of two letters; undefined to find it out. */
  readonly language: string | undefined;
  /** Into English. */
  readonly translate: boolean;
  /** What went before, for names and spellings. */
  readonly prompt: string;
  readonly temperature: number;
  /** Times for each word are wanted. */
  readonly words: boolean;
  /** Leave out what is no speech: laughter, music, noise. */
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
  /** The recording is read: it is this long. */
  | { readonly type: 'start'; readonly seconds: number }
  /** How much of it has been listened to. */
  | { readonly type: 'progress'; readonly fraction: number }
  | { readonly type: 'segment'; readonly segment: Segment }
  | {
      readonly type: 'finish';
      readonly seconds: number;
      readonly language: string;
      /** What of the request could not be done, as sentences. */
      readonly notes: readonly string[];
    };

export interface TranscriptionFacts {
  readonly name: string;
  /** Codes of two letters. */
  readonly languages: readonly string[];
  readonly translates: boolean;
}

/** Transcription for whoever has a ticket: in turn, and stopped with it. */
export interface TranscriptionService {
  /** The name of the model. */
  readonly name: string;
  transcribe(request: TranscriptionRequest, ticket: Ticket): AsyncIterable<TranscriptionEvent>;
}

export interface TranscriptionEngine {
  /** Undefined until it is loaded. */
  facts(): TranscriptionFacts | undefined;
  transcribe(request: TranscriptionRequest, signal: AbortSignal): AsyncIterable<TranscriptionEvent>;
}
