import { translatable } from '../languages/index.ts';

/** Sentences of the installed page: new versions, and what other apps share. */
export const texts = translatable('install', {
  update: 'A new version of Parley is ready. What you typed is kept.',
  reload: 'Reload',
  shared: {
    waiting: 'What you shared is added as soon as the server responds.',
    failed: 'What you shared could not be stored: the storage of the browser is full, or the files are too large.',
    leftOut: (names: string) => `Not added: ${names}. Up to 20 files with 200 MB in total can be shared at once.`,
  },
});
