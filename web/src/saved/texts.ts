import { translatable } from '../languages/index.ts';

/** Sentences about what is saved in the browser. */
export const texts = translatable('saved', {
  blocked: 'Parley was updated. Close its other tabs, or reload them, to see your chats and stories here.',
  outdated: 'Parley was updated in another tab. Reload this page.',
});
