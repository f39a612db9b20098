import { Records } from '../saved/records.svelte.ts';
import type { Segment } from './subtitles.ts';

interface Saved {
  readonly id: string;
  readonly madeAt: number;
  readonly text: string;
  /** Missing if the recording is too large to be kept. */
  readonly audio?: Blob;
}

export interface SavedSpeech extends Saved {
  readonly kind: 'speech';
  /** Id of the voice. */
  readonly voice: string;
  readonly format: string;
}

export interface SavedTranscript extends Saved {
  readonly kind: 'transcript';
  /** Of the file. */
  readonly name: string;
  /** In seconds. */
  readonly duration?: number;
  readonly segments: readonly Segment[];
}

export type SavedSound = SavedSpeech | SavedTranscript;

export const history = new Records<SavedSound>('sounds');

const mostAudioBytes = 50 * 2 ** 20;

export function keptAudio(audio: Blob): { readonly audio?: Blob } {
  return audio.size > mostAudioBytes ? {} : { audio };
}
