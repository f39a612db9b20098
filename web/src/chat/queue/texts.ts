import { plural, translatable } from '../../languages/index.ts';

/** Sentences and labels of messages that wait for the end of a reply. */
export const texts = translatable('queue', {
  label: 'Queued messages',
  waiting: 'Sent when the reply is done',
  paused: 'Not sent yet',
  sendNow: 'Send now',
  edit: 'Edit queued message',
  field: 'Queued message',
  save: 'Save',
  cancel: 'Cancel',
  remove: 'Remove queued message',
  removed: 'Queued message removed.',
  files: (count: number) => plural(count, { one: '# file', other: '# files' }),
});
