import { download, fileName } from '../files/download.ts';
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

const maxAudioBytes = 50 * 2 ** 20;

export function keptAudio(audio: Blob): { readonly audio?: Blob } {
  return audio.size > maxAudioBytes ? {} : { audio };
}

/** A file name for the audio of a saved sound. */
function audioName(sound: SavedSound): string {
  return sound.kind === 'transcript' ? sound.name : fileName(sound.text.slice(0, 40), `.${sound.format}`);
}

export function downloadAudio(sound: SavedSound): void {
  const { audio } = sound;
  if (audio) download({ name: audioName(sound), type: audio.type, content: audio });
}

/** Saves a transcript, or its subtitles, under the name of its recording. */
export function saveText({ name }: SavedTranscript, extension: string, content: string): void {
  download({ name: fileName(name.replace(/\.\w+$/, ''), extension), type: 'text/plain', content });
}
