import type { Story } from './story.ts';

const name = 'parley.rescue';

/** Stories that a page of an earlier version could not save when it closed. */
export const backup = {
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
