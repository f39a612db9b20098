import { download, fileName } from '../files/download.ts';
import type { SavedSound, SavedTranscript } from './history.svelte.ts';

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
