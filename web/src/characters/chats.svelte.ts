import { put } from '../chat/library.svelte.ts';
import type { Chat } from '../chat/model/conversation.ts';
import { newId } from '../saved/id.ts';
import type { Character } from './character.ts';
import { preferences } from './library.svelte.ts';
import { newCharacterChat } from './new-chat.ts';

/** Starts a chat with one character, or a group. Without a persona it has the default one. */
export function startCharacterChat(cast: readonly Character[], persona?: string): Chat {
  const chosen = persona ?? preferences.persona;
  const chat = newCharacterChat(cast, { newId, now: Date.now(), persona: chosen === '' ? undefined : chosen });
  put(chat);
  return chat;
}
