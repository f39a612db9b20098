import { list, number, ordinal, plural, translatable } from '../languages/index.ts';

const nth = (rank: number): string => ordinal(rank, { one: '#st', two: '#nd', few: '#rd', other: '#th' });

/** Where a passage stands in its document. */
export const englishLocation = {
  page: (page: number) => `page ${page}`,
  line: (line: number) => `line ${line}`,
};

/** Sentences about collections of the server in chats. */
export const texts = translatable('collections', {
  location: englishLocation,
  /** How a passage was found. */
  found: {
    vector: (rank: number) => `${nth(rank)} by meaning`,
    keywords: (rank: number) => `${nth(rank)} by words`,
    reranked: (score: number) => `reranked ${number(score, { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`,
  },
  /** Collections that go with messages. */
  take: {
    button: 'Knowledge',
    title: 'Knowledge for this chat',
    help: 'Collections that are searched before a reply. In the message, # and a name take one along, too.',
    label: 'Collections for this message',
    list: 'Collections',
    files: (total: number) => plural(total, { one: '# file', other: '# files' }),
    remove: (name: string) => `Remove ${name}`,
    when: (name: string) => `When to search ${name}`,
    off: 'Off',
    message: 'Next message',
    chat: 'This chat',
    folder: (folder: string) => `All chats in ${folder}`,
    alwaysChat: 'Searched for each message of this chat',
    alwaysFolder: (folder: string) => `Searched for each message of the chats in ${folder}`,
    none: 'There are no collections yet. A collection is a set of documents on the server that any chat can search.',
    manage: 'Manage collections',
  },
  collect: {
    name: 'Documents',
    done: (name: string) => `The collection “${name}” is being indexed. Any chat can use it.`,
    open: 'Open',
  },
  retrieval: {
    collections: (names: readonly string[]) => `Searching ${names.join(', ')} …`,
    failed: (names: readonly string[], reason: string) =>
      `${names.join(', ')} could not be searched: ${reason} The message was sent without passages of it.`,
    gone: (names: readonly string[]) =>
      `${plural(names.length, {
        one: 'This collection does not exist on this server any more:',
        other: 'These collections do not exist on this server any more:',
      })} ${list(names)}.`,
  },
});
