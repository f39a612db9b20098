import { newId } from '../saved/id.ts';
import { UndoableRecords } from '../saved/undoable-records.ts';
import { withFields } from './character.ts';
import type { Chat } from './conversation.ts';
import { chatShape, consistent } from './merge.ts';
import { emptyChat } from './tree.ts';

/** All chats of this browser, in all of its tabs. Undo restores the turns and what is compared; title and folder stay. */
export const chatRecords = new UndoableRecords<Chat>('chats', {
  shape: chatShape,
  kind: 'chat',
  parts: ({ turns, chosen, comparison }) => ({ turns, chosen, shown: { comparison } }),
  withParts: (chat, { turns, chosen, shown }) => {
    const { comparison } = shown as Pick<Chat, 'comparison'>;
    const restored = { ...chat, turns: turns as Chat['turns'], chosen: chosen as Chat['chosen'] };
    return consistent(withFields(restored, { comparison }), [chat.turns]);
  },
});

void chatRecords.load();

// Browsers may evict stored data when the disk is full, unless persistence is requested.
const stopAsking = chatRecords.onChange((_, chat, origin) => {
  if (!chat || origin !== 'here') return;
  stopAsking();
  navigator.storage?.persist?.().catch(() => {});
});

export const change = chatRecords.change.bind(chatRecords);

export function chatOrNew(chatId: string | undefined): Chat {
  const known = chatRecords.find(chatId);
  if (known) return known;
  const chat = emptyChat(newId(), Date.now());
  chatRecords.put(chat);
  return chat;
}
