import { characters } from '../characters/library.svelte.ts';
import type { Chat } from '../conversations/conversation.ts';

/** The name of the character that a chat is with. A group knows what every chat knows. */
export function characterOf({ characters: ids = [] }: Pick<Chat, 'characters'>): string | undefined {
  const [id, ...others] = ids;
  return others.length > 0 ? undefined : characters.find(id)?.name;
}
