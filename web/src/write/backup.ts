import type { Story } from '../story/story.ts';

const name = 'parley.rescue';

/** Stories with unsaved changes when the page closed. Local storage is small but synchronous. */
export const backup = {
  write(stories: readonly Story[]): void {
    try {
      if (stories.length === 0) localStorage.removeItem(name);
      else localStorage.setItem(name, JSON.stringify(stories));
    } catch {
      // Larger than the storage; the database may still be written.
    }
  },
  read(): Story[] {
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(name) ?? '[]');
      return Array.isArray(kept) ? kept.filter((story) => typeof story?.id === 'string') : [];
    } catch {
      return [];
    } finally {
      localStorage.removeItem(name);
    }
  },
};

/** Each story once, in its newest state. */
export function newest(...sources: readonly (readonly Story[])[]): Story[] {
  const stories = new Map<string, Story>();
  for (const story of sources.flat()) {
    const known = stories.get(story.id);
    if (!known || story.changed > known.changed) stories.set(story.id, story);
  }
  return [...stories.values()];
}
