import { personas } from '../characters/library.svelte.ts';
import type { Attachment, Chat, TakenCollection, Turn } from '../conversations/conversation.ts';
import { change, chatOrNew, library, put } from '../conversations/library.svelte.ts';
import { forked, leafOf, withChange, withoutMessage, withoutTurn, withTurn } from '../conversations/tree.ts';
import { requestReply } from '../replies/replies.svelte.ts';
import { newId } from '../saved/id.ts';
import { go } from '../ui/navigation.svelte.ts';
import { notify } from '../ui/notices.svelte.ts';
import { texts } from './thread/texts.ts';
import { cancelTitles } from './titles/model-titles.ts';

export interface Message {
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  /** Of the server, for this message. */
  readonly collections?: readonly TakenCollection[];
  /** The same for the chat that begins with it. */
  readonly always?: readonly TakenCollection[];
  /** Prefill of the reply. */
  readonly prefill?: string;
}

/** Sends a message, in a new chat if there is none. */
export function send(chatId: string | undefined, message: Message): void {
  cancelTitles();
  const chat = chatOrNew(chatId);
  const turn = said(leafOf(chat)?.id ?? null, message, chat);
  const { always } = message;
  change(chat.id, (now) => withTurn(always ? { ...now, collections: always } : now, turn), { undoable: true });
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
  if (text !== turn.text)
    change(
      chatId,
      (chat) => withChange(chat, turn.id, { text, chances: undefined, sources: undefined, memories: undefined }),
      {
        undoable: true,
      },
    );
}

/** Adds another version of a message, with its own reply. */
export function sendInstead(chatId: string, turn: Turn, text: string): void {
  cancelTitles();
  const { attachments = [], collections = [] } = turn;
  const other = said(turn.parent, { text, attachments, collections }, library.get(chatId));
  change(chatId, (chat) => withTurn(chat, other), { undoable: true });
  void requestReply(chatId, other.id, { undoable: false });
}

export function deleteTurn(chatId: string, turn: Turn): void {
  change(chatId, (chat) => withoutTurn(chat, turn.id), { undoable: true });
}

export function deleteMessage(chatId: string, turn: Turn): void {
  change(chatId, (chat) => withoutMessage(chat, turn.id), { undoable: true });
}

/** Opens a new chat with the messages up to this one. */
export function fork(chatId: string, turn: Turn): void {
  const chat = library.get(chatId);
  if (!chat) return;
  const title = texts.turn.forkTitle(chat.title || texts.turn.untitled);
  const copy = forked(chat, turn.id, title, { newId, now: Date.now() });
  put(copy);
  go({ view: 'chat', id: copy.id });
  notify(texts.turn.forked);
}

function said(
  parent: string | null,
  { text, attachments = [], collections = [] }: Message,
  chat: Chat | undefined,
): Turn {
  const name = personas.find(chat?.persona)?.name;
  return {
    id: newId(),
    parent,
    role: 'user',
    text,
    at: Date.now(),
    ...(attachments.length > 0 ? { attachments } : {}),
    ...(collections.length > 0 ? { collections } : {}),
    ...(name ? { name } : {}),
  };
}
