import { plural, translatable } from '../languages/index.ts';

/** All sentences about files that are opened and saved. */
export const texts = translatable('files', {
  zip: {
    damaged: 'The zip archive is damaged. Download or export it again.',
    tooManyFiles: 'The zip archive has too many files.',
    damagedEntry: (name: string) => `${name} in the zip archive is damaged. Download or export the archive again.`,
    tooLarge: (name: string) => `${name} in the zip archive is too large.`,
    encrypted: (name: string) => `${name} in the zip archive is encrypted. Save the archive without a password.`,
    unknownMethod: (name: string) => `${name} in the zip archive is compressed in an unsupported way.`,
  },
  png: {
    other: 'This is not a PNG file.',
    truncated: 'The PNG file is truncated. Download it again.',
  },
  lzma: {
    damaged: 'The compressed data is damaged.',
    tooLarge: 'The compressed data is too large.',
  },
  shared: {
    unknown: 'Another program has saved this story, in a format that is not known here.',
    noStory: 'What is saved here is not a story.',
  },
  card: {
    unnamed: 'Character',
    damaged: 'The character card in this image is damaged. Download the original file again.',
    noCard: 'This archive contains no character card (card.json).',
  },
  open: {
    empty: (name: string) => `Can't open ${name}: the file is empty.`,
    tooLarge: (name: string, megabytes: number) => `Can't open ${name}: the limit is ${megabytes} MB.`,
    unknown: (name: string) =>
      `Can't open ${name}: unknown format. Use a chat, a story, a character card, a lorebook, a preset or a text file.`,
    unreadable: (name: string, reason: string) => `Can't open ${name}: ${reason}`,
    damagedJson: 'the JSON is not valid. Export the file again.',
    newer: 'it is of a newer version of Parley. Update Parley to read it.',
    characterAdded: (name: string) => `${name} added to your characters.`,
    chatsAdded: (count: number) => plural(count, { one: '# chat imported.', other: '# chats imported.' }),
    newCharacters: (names: readonly string[]) => `New characters: ${names.join(', ')}.`,
    storyAdded: (title: string) => `Story “${title}” imported.`,
    lorebookAddedToChat: (name: string, entries: number) =>
      `${name}: ${plural(entries, { one: '# lorebook entry', other: '# lorebook entries' })} added to this chat. They are in the chat settings.`,
    lorebookAddedToStory: (name: string, entries: number) =>
      `${name}: ${plural(entries, { one: '# lorebook entry', other: '# lorebook entries' })} added to this story.`,
    lorebook: 'Lorebook',
    noChats: (name: string) => `Can't open ${name}: it has no chats.`,
    presetsAdded: (names: readonly string[]) => `${names.join(', ')} added to your presets. Choose it in Settings.`,
  },
});
