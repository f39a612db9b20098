import { go } from '../app/navigation.svelte.ts';
import { notify } from '../app/notices.svelte.ts';
import { newId } from '../saved/id.ts';
import { change, library, put, remove } from './library.svelte.ts';
import type { Attachment, Chat, Turn } from './model/conversation.ts';
import { emptyChat, leafOf, renamed, withChange, withoutTurn, withTurn } from './model/tree.ts';
import { requestReply } from './reply/replies.svelte.ts';

export interface Message {
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  /** Prefill of the reply. */
  readonly prefill?: string;
}

/** Sends a message, in a new chat if there is none. */
export function send(chatId: string | undefined, message: Message): void {
  const chat = chatOrNew(chatId);
  const turn = said(leafOf(chat)?.id ?? null, message);
  change(chat.id, (now) => withTurn(now, turn), { undoable: true });
  go({ view: 'chat', id: chat.id }, { replace: chatId === undefined });
  void requestReply(chat.id, turn.id, { prefill: message.prefill ?? '', undoable: false });
}

export function chatOrNew(chatId: string | undefined): Chat {
  const known = chatId === undefined ? undefined : library.get(chatId);
  if (known) return known;
  const chat = emptyChat(newId(), Date.now());
  put(chat);
  return chat;
}

/** Adds another reply to the same message; replaces a reply that failed without text. */
export function retry(chatId: string, turn: Turn): void {
  const failed = turn.failed !== undefined && turn.text === '';
  if (failed) change(chatId, (chat) => withoutTurn(chat, turn.id), { undoable: true });
  void requestReply(chatId, turn.parent, { undoable: !failed });
}

export function saveText(chatId: string, turn: Turn, text: string): void {
  if (text !== turn.text)
    change(chatId, (chat) => withChange(chat, turn.id, { text, chances: undefined, sources: undefined }), {
      undoable: true,
    });
}

/** Adds another version of a message, with its own reply. */
export function sendInstead(chatId: string, turn: Turn, text: string): void {
  const other = said(turn.parent, { text, attachments: turn.attachments ?? [] });
  change(chatId, (chat) => withTurn(chat, other), { undoable: true });
  void requestReply(chatId, other.id, { undoable: false });
}

export function deleteTurn(chatId: string, turn: Turn): void {
  change(chatId, (chat) => withoutTurn(chat, turn.id), { undoable: true });
}

export function rename(chatId: string, title: string): void {
  change(chatId, (chat) => renamed(chat, title));
}

export function moveTo(chatId: string, folder: string): void {
  change(chatId, (chat) => ({ ...chat, folder: folder.trim() }));
}

export async function deleteChat(chat: Chat): Promise<void> {
  await remove(chat.id);
  notify(`“${chat.title || 'Untitled chat'}” deleted.`, { action: { label: 'Undo', run: () => put(chat) } });
}

function said(parent: string | null, { text, attachments = [] }: Message): Turn {
  return {
    id: newId(),
    parent,
    role: 'user',
    text,
    at: Date.now(),
    ...(attachments.length > 0 ? { attachments } : {}),
  };
}
