import type { Chat, Turn } from '../model/conversation.ts';

/** Who says a message. Without a name it is the person or the model. */
export interface Speaker {
  readonly name: string | undefined;
  readonly avatar: string | undefined;
}

export function speakerOf(_chat: Chat, turn: Turn): Speaker {
  return { name: turn.name, avatar: undefined };
}

/** Message text as it is shown: macros such as `{{user}}` are replaced. */
export function shownText(_chat: Chat, turn: Turn, text: string = turn.text): string {
  return text;
}

export function isRoleplay(chat: Chat): boolean {
  return (chat.characters?.length ?? 0) > 0;
}
