import type { Chat, ChatCollection, TakenCollection } from '../conversations/conversation.ts';

/** Which collections go with the messages of a chat. All functions are pure. */

/** Never, with each message of the chat, or with those of all chats of its folder. */
export type Reach = 'off' | 'chat' | 'folder';

const applies = ({ folder }: ChatCollection, chat: Pick<Chat, 'folder'>): boolean =>
  folder === undefined || folder === chat.folder;

/** Those of a chat: its own, and those of its folder. */
export function collectionsOf(chat: Chat, chats: readonly Chat[]): readonly ChatCollection[] {
  const own = (chat.collections ?? []).filter((one) => applies(one, chat));
  const shared =
    chat.folder === ''
      ? []
      : chats
          .filter((other) => other.folder === chat.folder && other.id !== chat.id)
          .flatMap(({ collections = [] }) => collections.filter(({ folder }) => folder === chat.folder));
  return uniqueById([...own, ...shared]);
}

export function uniqueById<Item extends { readonly id: string }>(items: readonly Item[]): readonly Item[] {
  return items.filter(({ id }, at) => items.findIndex((one) => one.id === id) === at);
}

export function reachOf(chat: Chat, chats: readonly Chat[], id: string): Reach {
  const collection = collectionsOf(chat, chats).find((one) => one.id === id);
  if (!collection) return 'off';
  return collection.folder === undefined ? 'chat' : 'folder';
}

/**
 * The chats that change when a collection goes with other messages than before. What belongs to a folder is kept in each of its
 * chats, so that no deleted chat takes it along, and new chats of the folder find it in the others.
 */
export function withReach(
  chat: Chat,
  chats: readonly Chat[],
  { id, name }: TakenCollection,
  reach: Reach,
): readonly Chat[] {
  const isShared = reach === 'folder' && chat.folder !== '';
  return chats.flatMap((one) => {
    const before = one.collections ?? [];
    const isHere = one.id === chat.id;
    const sharesFolder = chat.folder !== '' && one.folder === chat.folder;
    if (!isHere && !sharesFolder) return [];
    const others = before.filter((each) => each.id !== id || (!isHere && each.folder !== chat.folder));
    const added: readonly ChatCollection[] = isShared
      ? [{ id, name, folder: chat.folder }]
      : isHere && reach === 'chat'
        ? [{ id, name }]
        : [];
    // Another chat of the folder that has it for itself keeps it.
    const after = [...others, ...added.filter((each) => !others.some((kept) => kept.id === each.id))];
    const isSame =
      after.length === before.length &&
      after.every((each, at) => before[at]?.id === each.id && before[at]?.folder === each.folder);
    return isSame ? [] : [{ ...one, collections: after }];
  });
}
