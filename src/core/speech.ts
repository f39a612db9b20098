import type { Ticket } from './request.ts';

export const speechFormats = ['wav', 'mp3', 'opus', 'flac', 'pcm'] as const;
export type SpeechFormat = (typeof speechFormats)[number];

/** A text that is to be spoken. */
export interface SpeechRequest {
  readonly text: string;
  /** One of the voices of the engine. */
  readonly voice: string;
  /** 1 is the usual pace. */
  readonly speed: number;
  readonly language: string;
  /** How the voice should sound, for models that take such words. */
  readonly instruction: string;
  readonly seed: number;
  readonly format: SpeechFormat;
  /** The file is sent before its end is known, so that its head cannot tell its length. */
  readonly streamed: boolean;
}

export type SpeechEvent =
  /** Comes first. */
  | {
      readonly type: 'start';
      /** What of the request cannot be done, as sentences. */
      readonly notes: readonly string[];
    }
  /** A piece of the file, in the format that was asked for. */
  | { readonly type: 'audio'; readonly bytes: Uint8Array }
  | { readonly type: 'finish'; readonly seconds: number };

export interface Voice {
  readonly name: string;
  /** A code of two letters. */
  readonly language: string;
  readonly description: string;
  readonly sound?: 'female' | 'male';
  /** A recording that lies in the folder of samples: listed, but no voice of the engine. */
  readonly sample?: true;
}

export interface SpeechFacts {
  readonly name: string;
  readonly voices: readonly Voice[];
}

/** Speech for whoever has a ticket: in turn, and stopped with it. */
export interface SpeechService {
  /** The name of the model. */
  readonly name: string;
  /** The longest text that it takes. */
  readonly maxWords: number;
  /** Known without loading it: those of the engine first, then the samples. */
  voices(): Promise<readonly Voice[]>;
  speak(request: SpeechRequest, ticket: Ticket): AsyncIterable<SpeechEvent>;
}

export interface SpeechEngine {
  /** Undefined until it is loaded. */
  facts(): SpeechFacts | undefined;
  speak(request: SpeechRequest, signal: AbortSignal): AsyncIterable<SpeechEvent>;
}
