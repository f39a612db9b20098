import { avatarUrl, characters, personas } from '../../characters/library.svelte.ts';
import { calledName } from '../../conversations/character.ts';
import type { Chat, Turn } from '../../conversations/conversation.ts';

/** Who says a message. Without a name it is the person or the model. */
export interface Speaker {
  readonly name: string | undefined;
  readonly avatar: string | undefined;
}

export function speakerOf(chat: Chat, { role, speaker, name }: Turn): Speaker {
  if (role === 'user')
    return { name: name ?? personas.find(chat.persona)?.name, avatar: avatarUrl(speaker ?? chat.persona) };
  // A turn without a speaker in a chat with one character is of that character.
  const id = speaker ?? (chat.characters?.length === 1 ? chat.characters[0] : undefined);
  const known = characters.find(id);
  return { name: known ? calledName(known) : name, avatar: avatarUrl(id) };
}

export function isRoleplay(chat: Chat): boolean {
  return (chat.characters?.length ?? 0) > 0;
}
