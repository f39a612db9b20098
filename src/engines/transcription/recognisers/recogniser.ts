import type { Segment, TranscriptionFacts } from '../../../core/transcription.ts';
import type { TranscriptionTask } from '../host.ts';

/** Samples a second of all that is recognised. */
export const soundRate = 16_000;

/** Something that makes text of a piece of speech. Each is a file beside this one; `open` chooses among them. */
export interface Recogniser {
  readonly facts: TranscriptionFacts;
  /** The longest piece that it hears well. */
  readonly longestSeconds: number;
  /** How long a piece may take at most before it counts as stuck. */
  patienceMs(seconds: number): number;
  /** What of this request has no effect on it, as sentences. */
  notes(task: TranscriptionTask): readonly string[];
  /** Off the main thread. What comes after the signal is not looked at: it may be half of it. */
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
