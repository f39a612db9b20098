import type { Story } from '../story/story.ts';

const name = 'parley.rescue';

/** Stories that were changed when the page went away. The storage for them is small, but written at once. */
export const backup = {
  write(stories: readonly Story[]): void {
    try {
      if (stories.length === 0) localStorage.removeItem(name);
      else localStorage.setItem(name, JSON.stringify(stories));
    } catch {
      // Larger than the storage; the database may still get it.
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

/** Each story once, as it was changed last. */
export function newest(...sources: readonly (readonly Story[])[]): Story[] {
  const stories = new Map<string, Story>();
  for (const story of sources.flat()) {
    const known = stories.get(story.id);
    if (!known || story.changed > known.changed) stories.set(story.id, story);
  }
  return [...stories.values()];
}
