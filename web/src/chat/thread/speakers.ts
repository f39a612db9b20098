import { avatarUrl } from '../../characters/library.svelte.ts';
import type { Chat, Turn } from '../model/conversation.ts';

export { shownText } from '../reply/prompt.svelte.ts';

/** Who says a message. Without a name it is the person or the model. */
export interface Speaker {
  readonly name: string | undefined;
  readonly avatar: string | undefined;
}

export function speakerOf(chat: Chat, turn: Turn): Speaker {
  return { name: turn.name, avatar: avatarUrl(turn.role === 'user' ? chat.persona : turn.speaker) };
}

export function isRoleplay(chat: Chat): boolean {
  return (chat.characters?.length ?? 0) > 0;
}
