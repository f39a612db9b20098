import type { Route } from '../ui/navigation.svelte.ts';
import type { OpenOptions } from './open-found.svelte.ts';

/**
 * Puts a file into the library that it belongs to: characters, chats, stories, lorebooks, presets. Returns where it can be
 * seen; undefined for other files. Throws an `Unreadable` with a sentence for people.
 */
export async function openFile(file: File, options: OpenOptions = {}): Promise<Route | undefined> {
  // Readers of files are loaded when the first file is opened.
  const { openFound } = await import('./open-found.svelte.ts');
  return openFound(file, options);
}
