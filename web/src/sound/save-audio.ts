import { fileName } from '../files/download.ts';
import type { SavedSound } from './history.svelte.ts';

/** A file name for the audio of a saved sound. */
export function audioName(sound: SavedSound): string {
  return sound.kind === 'transcript' ? sound.name : fileName(sound.text.slice(0, 40), `.${sound.format}`);
}

export function downloadAudio(sound: SavedSound): void {
  if (!sound.audio) return;
  const address = URL.createObjectURL(sound.audio);
  const link = document.createElement('a');
  link.href = address;
  link.download = audioName(sound);
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
