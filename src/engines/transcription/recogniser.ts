import type { Segment, TimedWord, TranscriptionFacts } from '../../core/transcription.ts';
import type { TranscriptionTask } from './host.ts';

/** Sample rate in Hz of all models. */
export const soundRate = 16_000;

export interface Recogniser {
  readonly facts: TranscriptionFacts;
  /** Longest chunk that it recognises well. */
  readonly maxChunkSeconds: number;
  /** It may hear nothing in a short sentence between pauses; such a chunk is given to it once more without them. */
  readonly missesShortSpeech?: boolean;
  /** Watchdog time-out of a chunk. */
  timeoutMs(seconds: number): number;
  /** Fields of the request that are ignored, as sentences. */
  notes(task: TranscriptionTask): readonly string[];
  /** Runs off the main thread. A result after an abort is ignored, because it may be partial. */
  recognise(samples: Float32Array, task: TranscriptionTask, signal: AbortSignal): Promise<Transcript>;
  close?(): Promise<void> | void;
}

export interface Transcript {
  readonly text: string;
  /** ISO 639-1. */
  readonly language: string;
  /** With times from the start of the chunk. Estimated if undefined. */
  readonly segments?: readonly Segment[];
}

/** Joins words to sentences, which end at their marks. */
export function sentences(words: readonly TimedWord[]): readonly Segment[] {
  const groups: TimedWord[][] = [];
  let open = false;
  for (const word of words) {
    if (!open) groups.push([]);
    groups.at(-1)?.push(word);
    open = !/[.!?。！？]["'”’)]*$/.test(word.word);
  }
  return groups.map((sentence) => ({
    start: sentence[0]?.start ?? 0,
    end: sentence.at(-1)?.end ?? 0,
    text: sentence.map(({ word }) => word).join(''),
    words: sentence.map(({ word, ...times }) => ({ word: word.trim(), ...times })),
  }));
}

/** The segment, by so many seconds later. */
export function delayed({ words, ...segment }: Segment, seconds: number): Segment {
  const later = <Timed extends { readonly start: number; readonly end: number }>(timed: Timed): Timed => {
    return { ...timed, start: timed.start + seconds, end: timed.end + seconds };
  };
  return { ...later(segment), ...(words ? { words: words.map(later) } : {}) };
}
