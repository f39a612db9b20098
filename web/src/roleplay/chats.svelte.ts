import { texts } from '../characters/chat-texts.ts';
import { preferences } from '../characters/library.svelte.ts';
import { cleanedReply } from '../characters/prompt.ts';
import { prompts } from '../characters/prompts.ts';
import { type Character, calledName } from '../conversations/character.ts';
import type { Chat } from '../conversations/conversation.ts';
import { chatRecords } from '../conversations/library.svelte.ts';
import { pathOf } from '../conversations/tree.ts';
import { drawing } from '../replies/drawing.svelte.ts';
import { castOf } from '../replies/message-texts.svelte.ts';
import { newId } from '../saved/id.ts';
import { settings } from '../settings/settings.svelte.ts';
import { hiddenReply } from './hidden-request.ts';
import { newCharacterChat } from './new-chat.ts';

/** Starts a chat with one character, or a group, and the default persona. */
export function startCharacterChat(cast: readonly Character[]): Chat {
  const chat = newCharacterChat(cast, { newId, now: Date.now(), persona: preferences.persona || undefined });
  chatRecords.put(chat);
  return chat;
}

/** Writes the next message of the person, for the input field. `onText` is called with the text so far. */
export async function impersonate(
  chatId: string,
  { onText, signal }: { readonly onText?: (text: string) => void; readonly signal?: AbortSignal } = {},
): Promise<string> {
  const chat = chatRecords.find(chatId);
  if (!chat) return '';
  const cast = castOf(chat);
  const me = cast.persona?.name || texts.person;
  const stops = cast.characters.map((character) => `\n${calledName(character)}:`);
  const cleaned = (text: string): string => cleanedReply(text, me, stops);
  const text = await hiddenReply(chat, pathOf(chat), {
    instruction: prompts.impersonate,
    replyLength: settings.replyLength,
    stops,
    signal,
    onText: onText && ((arrived) => onText(cleaned(arrived))),
  });
  return cleaned(text);
}

const sceneTokens = 160;

/** Asks the model what the scene looks like, and draws it into the chat. */
export async function drawScene(chatId: string): Promise<void> {
  const chat = chatRecords.find(chatId);
  if (!chat) return;
  const describe = (signal: AbortSignal): Promise<string> =>
    hiddenReply(chat, pathOf(chat), { instruction: prompts.scene, replyLength: sceneTokens, signal });
  await drawing.startDescribed(chatId, describe, (prompt) => ({ chatId, prompt, scene: true }));
}
