import type { RequestContext } from './request-context.ts';
import type { SentFields } from './sent-fields.ts';

export const speechFormats = ['wav', 'mp3', 'opus', 'flac', 'pcm'] as const;
export type SpeechFormat = (typeof speechFormats)[number];

export interface SpeechRequest {
  readonly text: string;
  readonly voice: string;
  /** 1 is normal. */
  readonly speed: number;
  readonly language: string;
  /** Style of the voice, for models that support it. */
  readonly instruction: string;
  readonly seed: number;
  readonly format: SpeechFormat;
  /** The file is streamed, so that its header cannot contain its length. */
  readonly streamed: boolean;
}

export type SpeechEvent =
  | {
      readonly type: 'start';
      /** What differs from the request, as sentences. */
      readonly notes: readonly string[];
    }
  /** A piece of the file, in the requested format. */
  | { readonly type: 'audio'; readonly bytes: Uint8Array }
  | { readonly type: 'finish'; readonly seconds: number };

export interface Voice {
  readonly name: string;
  /** Two-letter code. */
  readonly language: string;
  readonly description: string;
  readonly sound?: 'female' | 'male';
  /** Other names for it, such as those of OpenAI. */
  readonly aliases?: readonly string[];
  /** A file of the sample folder: listed, but no voice of the engine. */
  readonly sample?: true;
}

export interface SpeechFacts {
  readonly name: string;
  readonly voices: readonly Voice[];
}

export interface SpeechService {
  readonly name: string;
  readonly maxWords: number;
  /** Voices can be mixed (`a(2)+b`), and a name that is none of the list is refused. */
  readonly exactVoices?: boolean;
  /** Known before it is loaded: the voices of the engine, then the samples. */
  voices(): Promise<readonly Voice[]>;
  speak(request: SpeechRequest, context: RequestContext): AsyncIterable<SpeechEvent>;
  /** Loads the engine ahead of the first request. */
  warm?(signal: AbortSignal): Promise<void>;
}

export interface SpeechEngine {
  /** Undefined until it is loaded. */
  facts(): SpeechFacts | undefined;
  speak(request: SpeechRequest, signal: AbortSignal, sent?: SentFields): AsyncIterable<SpeechEvent>;
}

declare module './task-services.ts' {
  interface TaskServices {
    readonly speech?: SpeechService;
  }
}
