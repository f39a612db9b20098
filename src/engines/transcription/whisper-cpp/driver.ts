import type { Segment, TimedWord } from '../../../core/transcription.ts';
import { sentences } from '../recogniser.ts';

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

export interface WhisperResult {
  readonly language?: string;
  /** Times in milliseconds. */
  readonly segments: readonly { readonly text: string; readonly t0: number; readonly t1: number }[];
}

export function wholeSegments({ segments }: WhisperResult): readonly Segment[] {
  return segments
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, t0, t1 }) => ({ text, start: t0 / 1000, end: Math.max(t0, t1) / 1000 }));
}

/** Joins segments of single tokens to words, which start with a space, and words to sentences. */
export function spokenWords({ segments }: WhisperResult): readonly Segment[] {
  const words: TimedWord[] = [];
  for (const { text, t0, t1 } of segments) {
    if (text === '') continue;
    const last = words.at(-1);
    const end = Math.max(t0, t1) / 1000;
    if (!last || text.startsWith(' ')) words.push({ word: text, start: t0 / 1000, end });
    else words[words.length - 1] = { word: last.word + text, start: last.start, end: Math.max(last.end, end) };
  }
  return sentences(words.filter(({ word }) => word.trim() !== ''));
}
