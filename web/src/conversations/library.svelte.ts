import { histories } from '../saved/histories.ts';
import type { History } from '../saved/history.ts';
import { newId } from '../saved/id.ts';
import { Records } from '../saved/records.svelte.ts';
import { withFields } from './character.ts';
import type { Chat } from './conversation.ts';
import { chatShape, consistent } from './merge.ts';
import { emptyChat } from './tree.ts';

/** All chats of this browser, in all of its tabs. */
export const chatRecords = new Records<Chat>('chats', { shape: chatShape });

/** Undo restores the turns and what is compared; title and folder stay. */
const undoSteps = histories<Chat>({
  kind: 'chat',
  parts: ({ turns, chosen, comparison }) => ({ turns, chosen, shown: { comparison } }),
  withParts: (chat, { turns, chosen, shown }) => {
    const { comparison } = shown as Pick<Chat, 'comparison'>;
    const restored = { ...chat, turns: turns as Chat['turns'], chosen: chosen as Chat['chosen'] };
    return consistent(withFields(restored, { comparison }), [chat.turns]);
  },
});

void chatRecords.load();

export const historyOf = (id: string): History => undoSteps.of(id);

let asked = false;

/** Browsers may evict stored data when the disk is full, unless persistence is requested. */
function askToKeep(): void {
  if (asked) return;
  asked = true;
  navigator.storage?.persist?.().catch(() => {});
}

/** Shows and saves a chat at once. */
export function put(chat: Chat): void {
  askToKeep();
  chatRecords.put(chat);
}

export function chatOrNew(chatId: string | undefined): Chat {
  const known = chatRecords.find(chatId);
  if (known) return known;
  const chat = emptyChat(newId(), Date.now());
  put(chat);
  return chat;
}

/** Changes a chat. `undoable` adds an undo step. */
export function change(id: string, make: (chat: Chat) => Chat, { undoable = false } = {}): void {
  const before = chatRecords.find(id);
  const after = before && make(before);
  if (!after || after === before) return;
  undoSteps.changed(before, after, undoable);
  put(after);
}

export function undo(id: string): void {
  const chat = chatRecords.find(id);
  const before = chat && undoSteps.undo(chat);
  if (before) put(before);
}

export function redo(id: string): void {
  const chat = chatRecords.find(id);
  const after = chat && undoSteps.redo(chat);
  if (after) put(after);
}

/** The undo history stays, in case the chat is put back. */
export async function remove(id: string): Promise<void> {
  await chatRecords.remove(id);
}
