import { change } from '../conversations/library.svelte.ts';

/** The switch before the first message: the chat is made when it is sent. */
let newChat = $state(false);

export function isSearchOn(chat: { readonly webSearch?: boolean } | undefined): boolean {
  return chat ? (chat.webSearch ?? false) : newChat;
}

export function setSearch(chatId: string | undefined, on: boolean): void {
  if (chatId === undefined) newChat = on;
  else change(chatId, (chat) => ({ ...chat, webSearch: on }));
}

/** Whether the next chat begins with web search; the switch is off again afterwards. */
export function takeSearchOfNewChat(): boolean {
  const on = newChat;
  newChat = false;
  return on;
}
