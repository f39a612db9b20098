import { type Character, calledName } from '../conversations/character.ts';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { emptyChat, renamed } from '../conversations/tree.ts';

interface NewChatOptions {
  readonly newId: () => string;
  readonly now: number;
  readonly persona?: string | undefined;
}

/**
 * A chat with these characters. The first message of the first one begins it, with its alternate greetings as versions; in a
 * group the others greet after it. The texts keep their macros.
 */
export function newCharacterChat(characters: readonly Character[], { newId, now, persona }: NewChatOptions): Chat {
  const turns: Turn[] = [];
  const chosen: Record<string, string> = {};
  let parent: string | null = null;
  for (const character of characters) {
    const greetings: Turn[] = character.greetings.map((text, index) => ({
      id: newId(),
      parent,
      role: 'assistant',
      text,
      at: now + turns.length + index,
      speaker: character.id,
      name: calledName(character),
    }));
    const [first] = greetings;
    if (!first) continue;
    turns.push(...greetings);
    chosen[parent ?? 'root'] = first.id;
    parent = first.id;
  }
  const chat: Chat = {
    ...emptyChat(newId(), now),
    turns: Object.fromEntries(turns.map((turn) => [turn.id, turn])),
    chosen,
    characters: characters.map(({ id }) => id),
    ...(persona === undefined ? {} : { persona }),
  };
  return renamed(chat, characters.map(calledName).join(', '));
}
