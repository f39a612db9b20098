import type { TranscriptionRequest } from '../../core/transcription.ts';

/** What a recogniser is opened with. */
export type RecogniserOptions =
  | { readonly type: 'moonshine'; readonly threads: number }
  | {
      readonly type: 'whisper';
      readonly model: string;
      readonly name: string;
      readonly threads: number;
      /** Not on a graphics card, though a build for it may be installed. */
      readonly cpuOnly: boolean;
    };

export interface TranscriptionOptions {
  readonly recogniser: RecogniserOptions;
}

/** The recording itself goes along as an attachment. */
export type TranscriptionTask = Omit<TranscriptionRequest, 'recording'>;
