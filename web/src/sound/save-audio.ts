import { download, fileName } from '../files/download.ts';
import type { SavedSound } from './history.svelte.ts';

/** A file name for the audio of a saved sound. */
export function audioName(sound: SavedSound): string {
  return sound.kind === 'transcript' ? sound.name : fileName(sound.text.slice(0, 40), `.${sound.format}`);
}

export function downloadAudio(sound: SavedSound): void {
  const { audio } = sound;
  if (audio) download({ name: audioName(sound), type: audio.type, content: audio });
}
