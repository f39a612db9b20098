const ordinal = (rank: number): string => {
  const ending = ['th', 'st', 'nd', 'rd'][rank % 100 > 10 && rank % 100 < 14 ? 0 : Math.min(rank % 10, 4) % 4];
  return `${rank}${ending}`;
};
const count = (number: number): string => number.toLocaleString('en');

/** Sentences about collections of the server in chats. */
export const texts = {
  /** How a passage was found. */
  found: {
    vector: (rank: number) => `${ordinal(rank)} by meaning`,
    keywords: (rank: number) => `${ordinal(rank)} by words`,
    reranked: (score: number) => `reranked ${score.toFixed(2)}`,
  },
  /** Collections that go with messages. */
  take: {
    button: 'Knowledge',
    title: 'Knowledge for this chat',
    help: 'Collections that are searched before a reply. In the message, # and a name take one along, too.',
    label: 'Collections for this message',
    list: 'Collections',
    files: (total: number) => `${count(total)} ${total === 1 ? 'file' : 'files'}`,
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
      names.length === 1
        ? `The collection ${names[0]} does not exist on this server any more.`
        : `The collections ${names.join(', ')} do not exist on this server any more.`,
  },
} as const;
