import { plural, translatable } from '../languages/index.ts';

/** Sentences and labels of quick replies. */
export const texts = translatable('quickReplies', {
  title: 'Quick replies',
  help: 'Buttons above the message field. They also open with / in the field. {{user}} and {{char}} are the names, {{input}} is what you have typed.',
  none: 'No quick replies yet.',
  add: 'New quick reply',
  unnamed: 'New',
  label: 'Label',
  text: 'Text',
  textHelp: 'Text that begins with / is a command, such as /retry.',
  where: 'Where',
  everywhere: 'In all chats',
  thisChat: 'In this chat',
  otherChat: (title: string) => `In the chat “${title}”`,
  withCharacter: (name: string) => `With ${name}`,
  deleted: 'With a deleted character or chat',
  send: 'Send at once',
  sendHelp: 'Otherwise the text is put into the message field.',
  button: 'Show as a button',
  done: 'Done',
  editTitle: 'Quick reply',
  edit: (label: string) => `Edit ${label}`,
  up: (label: string) => `Move ${label} up`,
  remove: (label: string) => `Delete ${label}`,
  removed: (label: string) => `${label} deleted.`,
  import: 'Import',
  importLabel: 'Quick replies to import',
  export: 'Export',
  fileName: 'Quick replies',
  imported: (count: number) => plural(count, { one: '# quick reply imported.', other: '# quick replies imported.' }),
  /** What an imported one has that does not work here. */
  scripts: (commands: string) =>
    `The commands ${commands} are not known here. It only puts its text into the message field.`,
  automatic: 'It is not started automatically here.',
  contextMenu: 'Its context menu was left out.',
  unreadable: (file: string) => `Can’t import ${file}: it has no quick replies of SillyTavern or Parley.`,
});
