import type { Chat, QueuedMessage, Turn } from '../conversations/conversation.ts';
import { change, chatRecords } from '../conversations/library.svelte.ts';
import { leafOf, openComparison, withTurn } from '../conversations/tree.ts';
import { newId } from '../saved/id.ts';
import { openCalls } from './calls.ts';
import { liveReply, requestReply } from './replies.svelte.ts';
import { type Message, userTurn } from './user-turn.ts';

/** Messages that wait for the end of a reply. They are a part of the chat: every tab shows them, also after a reload. */

/** A queued message that is being edited, with what is typed. */
export interface QueuedEdit {
  readonly id: string;
  text: string;
}

/** Edits of this tab, by chat: another chat may be opened meanwhile. The message waits until its edit is done. */
const edits = $state<Record<string, QueuedEdit>>({});

/** Undefined if the message was sent or removed elsewhere. */
export function editIn({ id: chatId, queued = [] }: Chat): QueuedEdit | undefined {
  const edit = edits[chatId];
  return queued.some(({ id }) => id === edit?.id) ? edit : undefined;
}

export function enqueue(chatId: string, { always: _, ...message }: Message): void {
  change(chatId, (chat) => ({ ...chat, queued: [...(chat.queued ?? []), { id: newId(), ...message }] }));
}

function withoutQueued({ queued = [], ...chat }: Chat, id: string): Chat {
  const rest = queued.filter((one) => one.id !== id);
  return rest.length > 0 ? { ...chat, queued: rest } : chat;
}

/** Returns how to undo it. */
export function removeQueued(chatId: string, id: string): () => void {
  const before = chatRecords.find(chatId)?.queued ?? [];
  const at = before.findIndex((one) => one.id === id);
  const removed = before[at];
  change(chatId, (chat) => withoutQueued(chat, id));
  return () => {
    if (removed) change(chatId, (chat) => ({ ...chat, queued: (chat.queued ?? []).toSpliced(at, 0, removed) }));
  };
}

export function editQueued(chatId: string, { id, text }: QueuedMessage): void {
  edits[chatId] = { id, text };
}

/** Ends the editing; without a text the message stays as it was. If its turn came meanwhile, it is sent. */
export function endEdit(chatId: string, text?: string): void {
  const id = edits[chatId]?.id;
  delete edits[chatId];
  if (text !== undefined)
    change(chatId, (chat) => ({
      ...chat,
      queued: (chat.queued ?? []).map((one) => (one.id === id ? { ...one, text } : one)),
    }));
  sendNext(chatId);
}

/** Sends a message now. False while a reply is running. */
export function sendQueued(chatId: string, message: QueuedMessage): boolean {
  const chat = chatRecords.find(chatId);
  if (!chat?.queued?.some(({ id }) => id === message.id) || liveReply(chatId)) return false;
  const turn = userTurn(leafOf(chat)?.id ?? null, message, chat);
  change(chatId, (now) => withTurn(withoutQueued(now, message.id), turn), { undoable: true });
  void requestReply(chatId, turn.id, { prefill: message.prefill ?? '', undoable: false });
  return true;
}

/** Sends the next message after a complete reply. One that was stopped or has failed may need something else first. */
export function sendNext(chatId: string): boolean {
  const chat = chatRecords.find(chatId);
  const next = chat?.queued?.[0];
  if (!chat || !next || next.id === edits[chatId]?.id) return false;
  if (openComparison(chat) || openCalls(chat) || !isComplete(leafOf(chat))) return false;
  return sendQueued(chatId, next);
}

const broken = new Set(['stopped', 'abort', 'interrupted', 'error']);

function isComplete(turn: Turn | undefined): boolean {
  return turn?.role === 'assistant' && !turn.pending && turn.failed === undefined && !broken.has(turn.finish ?? '');
}
