import type { Place } from '../app/navigation.svelte.ts';

export interface OpenOptions {
  /**
   * What happens with files that belong nowhere: `nothing` returns undefined (the chat attaches them), `story` opens text as
   * a story, `error` throws.
   */
  readonly otherwise?: 'nothing' | 'story' | 'error';
}

/**
 * Puts a file into the library that it belongs to: characters, chats, stories, lorebooks, presets. Returns where it can be
 * seen; undefined for other files. Throws an `Unreadable` with a sentence for people.
 */
export async function openFile(file: File, options: OpenOptions = {}): Promise<Place | undefined> {
  // Readers of files are loaded when the first file is opened.
  const { openFound } = await import('../characters/open-found.svelte.ts');
  return openFound(file, options);
}
