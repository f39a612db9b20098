import { personas } from '../characters/library.svelte.ts';
import type { Attachment, Chat, TakenCollection, Turn } from '../conversations/conversation.ts';
import { newId } from '../saved/id.ts';
import { storedText } from './message-texts.svelte.ts';

/** What a person sends. */
export interface Message {
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  /** Of the server, for this message. */
  readonly collections?: readonly TakenCollection[];
  /** The same for the chat that begins with it. */
  readonly always?: readonly TakenCollection[];
  /** Prefill of the reply. */
  readonly prefill?: string;
  /** Results of a web search go with this message. */
  readonly webSearch?: boolean;
}

/** Whether nothing goes with the text. */
export function isOnlyText({ attachments = [], collections = [], prefill = '', webSearch = false }: Message): boolean {
  return attachments.length + collections.length === 0 && prefill === '' && !webSearch;
}

/** The turn of a message of the person. */
export function userTurn(parent: string | null, message: Message, chat: Chat | undefined): Turn {
  const { text, attachments = [], collections = [], webSearch = false } = message;
  const name = personas.find(chat?.persona)?.name;
  return {
    id: newId(),
    parent,
    role: 'user',
    text: storedText(chat, { role: 'user' }, text),
    at: Date.now(),
    ...(attachments.length > 0 ? { attachments } : {}),
    ...(collections.length > 0 ? { collections } : {}),
    ...(webSearch ? { webSearch } : {}),
    ...(name ? { name } : {}),
  };
}
