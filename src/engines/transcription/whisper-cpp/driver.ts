import type { WhisperResult } from './segments.ts';

/** A build of whisper.cpp with a loaded model. */
export interface WhisperDriver {
  readonly suppressesNonSpeech: boolean;
  /** Runs off the main thread. With `words`, each segment is a token. */
  transcribe(samples: Float32Array, task: WhisperTask, signal: AbortSignal): Promise<WhisperResult>;
  close(): Promise<void> | void;
}

export interface WhisperTask {
  /** Two-letter code, or `auto`. */
  readonly language: string;
  readonly translate: boolean;
  readonly prompt: string;
  readonly temperature: number;
  readonly words: boolean;
  readonly suppressNonSpeech: boolean;
  readonly threads: number;
}
