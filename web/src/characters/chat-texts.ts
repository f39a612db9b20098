import { translatable } from '../languages/index.ts';

/** What every chat needs of the sentences about characters; the others are loaded with their dialogs. */
export const texts = translatable('roleplay', {
  person: 'You',
  tooShort: 'The chat is too short to summarize.',
  emptyReply: 'The model returned an empty reply. Try again.',
});
