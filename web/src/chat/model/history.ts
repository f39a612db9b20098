import type { Chat } from './conversation.ts';

type Shape = Pick<Chat, 'turns' | 'chosen'>;

/** What a chat was before each change of its shape, and what it was before that was undone. */
export interface History {
  readonly past: readonly Shape[];
  readonly future: readonly Shape[];
}

export const noHistory: History = { past: [], future: [] };
const deepest = 100;

export function remembered(history: History, before: Chat): History {
  return { past: [...history.past, shapeOf(before)].slice(-deepest), future: [] };
}

export function undone(history: History, chat: Chat): { history: History; chat: Chat } | undefined {
  const shape = history.past.at(-1);
  if (!shape) return undefined;
  return {
    history: { past: history.past.slice(0, -1), future: [...history.future, shapeOf(chat)] },
    chat: { ...chat, ...shape },
  };
}

export function redone(history: History, chat: Chat): { history: History; chat: Chat } | undefined {
  const shape = history.future.at(-1);
  if (!shape) return undefined;
  return {
    history: { past: [...history.past, shapeOf(chat)], future: history.future.slice(0, -1) },
    chat: { ...chat, ...shape },
  };
}

function shapeOf({ turns, chosen }: Chat): Shape {
  return { turns, chosen };
}
