import type { Turn } from '../conversations/conversation.ts';
import { change, chatOrNew, chatRecords } from '../conversations/library.svelte.ts';
import { forked, leafOf, withChange, withoutMessage, withoutTurn, withTurn } from '../conversations/tree.ts';
import { areScriptsReady, loadScripts, storedText } from '../replies/message-texts.svelte.ts';
import { requestReply } from '../replies/replies.svelte.ts';
import { type Message, userTurn } from '../replies/user-turn.ts';
import { newId } from '../saved/id.ts';
import { go } from '../ui/navigation.svelte.ts';
import { notify, notifyFailure } from '../ui/notices.svelte.ts';
import { texts } from './thread/texts.ts';
import { cancelTitles } from './titles/model-titles.ts';

/** Does something with the texts of a chat, when its regex scripts are loaded. */
function withScripts(chatId: string | undefined, work: () => void): void {
  const chat = chatRecords.find(chatId);
  if (areScriptsReady(chat)) work();
  else void loadScripts(chat).catch(notifyFailure).then(work);
}

/** Sends a message, in a new chat if there is none. */
export function send(chatId: string | undefined, message: Message): void {
  cancelTitles();
  withScripts(chatId, () => sendNow(chatId, message));
}

function sendNow(chatId: string | undefined, message: Message): void {
  const chat = chatOrNew(chatId);
  const turn = userTurn(leafOf(chat)?.id ?? null, message, chat);
  const { always } = message;
  change(chat.id, ({ comparison: _, ...now }) => withTurn(always ? { ...now, collections: always } : now, turn), {
    undoable: true,
  });
  go({ view: 'chat', id: chat.id }, { replace: chatId === undefined });
  void requestReply(chat.id, turn.id, { prefill: message.prefill ?? '', undoable: false });
}

/** Adds another reply to the same message; replaces a reply that failed without text. */
export function retry(chatId: string, turn: Turn): void {
  cancelTitles();
  const failed = turn.failed !== undefined && turn.text === '';
  if (failed) change(chatId, (chat) => withoutTurn(chat, turn.id), { undoable: true });
  void requestReply(chatId, turn.parent, { undoable: !failed });
}

export function saveText(chatId: string, turn: Turn, text: string): void {
  if (text === turn.text) return;
  const derived = { chances: undefined, sources: undefined, memories: undefined };
  withScripts(chatId, () => {
    const stored = storedText(chatRecords.find(chatId), turn, text, 'edit');
    change(chatId, (chat) => withChange(chat, turn.id, { text: stored, ...derived }), { undoable: true });
  });
}

/** Adds another version of a message, with its own reply. */
export function sendInstead(chatId: string, turn: Turn, text: string): void {
  cancelTitles();
  withScripts(chatId, () => {
    const { attachments = [], collections = [] } = turn;
    const other = userTurn(turn.parent, { text, attachments, collections }, chatRecords.find(chatId));
    change(chatId, (chat) => withTurn(chat, other), { undoable: true });
    void requestReply(chatId, other.id, { undoable: false });
  });
}

export function deleteTurn(chatId: string, turn: Turn): void {
  change(chatId, (chat) => withoutTurn(chat, turn.id), { undoable: true });
}

export function deleteMessage(chatId: string, turn: Turn): void {
  change(chatId, (chat) => withoutMessage(chat, turn.id), { undoable: true });
}

/** Opens a new chat with the messages up to this one. */
export function fork(chatId: string, turn: Turn): void {
  const chat = chatRecords.find(chatId);
  if (!chat) return;
  const title = texts.turn.forkTitle(chat.title || texts.turn.untitled);
  const copy = forked(chat, turn.id, title, { newId, now: Date.now() });
  chatRecords.put(copy);
  go({ view: 'chat', id: copy.id });
  notify(texts.turn.forked);
}
