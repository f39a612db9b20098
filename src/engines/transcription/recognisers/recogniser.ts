import type { Segment, TranscriptionFacts } from '../../../core/transcription.ts';
import type { TranscriptionTask } from '../host.ts';

/** Samples a second of all that is recognised. */
export const soundRate = 16_000;

/** Speech recogniser; `open` selects the implementation. */
export interface Recogniser {
  readonly facts: TranscriptionFacts;
  /** Longest chunk that it recognises well. */
  readonly longestSeconds: number;
  /** Watchdog time-out of a chunk. */
  patienceMs(seconds: number): number;
  /** What of this request has no effect on it, as sentences. */
  notes(task: TranscriptionTask): readonly string[];
  /** Runs off the main thread. A result after an abort is ignored, because it may be partial. */
  recognise(samples: Float32Array, task: TranscriptionTask, signal: AbortSignal): Promise<Heard>;
  close?(): Promise<void> | void;
}

export interface Heard {
  readonly text: string;
  /** A code of two letters. */
  readonly language: string;
  /** With times from the beginning of the piece, where the recogniser knows them; they are estimated otherwise. */
  readonly segments?: readonly Segment[];
}
