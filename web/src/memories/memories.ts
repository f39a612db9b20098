import { call, read } from '../api/call.ts';
import { characters } from '../characters/library.svelte.ts';
import type { Chat } from '../conversations/conversation.ts';

/** The calls of `api/extra/memories`: what a person wants remembered from chat to chat. */

export interface Memory {
  readonly id: string;
  readonly text: string;
  /** The character that knows it; null for what every chat may know. */
  readonly character: string | null;
  readonly pinned: boolean;
}

const root = 'api/extra/memories';
const of = (id: string): string => `${root}/${encodeURIComponent(id)}`;

export async function fetchMemories(): Promise<readonly Memory[]> {
  return (await read<{ memories: readonly Memory[] }>(root)).memories;
}

export const addMemory = (text: string, character?: string): Promise<Memory> =>
  read<Memory>(root, { body: { text, ...(character === undefined ? {} : { character }) } });

export const changeMemory = (
  id: string,
  change: Partial<Pick<Memory, 'text' | 'pinned' | 'character'>>,
): Promise<Memory> => read<Memory>(of(id), { body: change });

export const deleteMemory = (id: string): Promise<unknown> => call(of(id), { method: 'DELETE' });

/** Those that fit a message. */
export async function findMemories(text: string, character: string | undefined, signal: AbortSignal) {
  const body = { text, ...(character === undefined ? {} : { character }) };
  return (await read<{ memories: readonly Memory[] }>(`${root}/search`, { body, signal, background: true })).memories;
}

/** What a chat says that may be worth remembering, by the model. */
export async function suggestMemories(
  messages: readonly { readonly role: string; readonly content: string }[],
  model?: string,
): Promise<readonly string[]> {
  const body = { messages, ...(model === undefined ? {} : { model }) };
  return (await read<{ suggestions: readonly string[] }>(`${root}/suggest`, { body, background: true })).suggestions;
}

/** The name of the character that a chat is with. A group knows what every chat knows. */
export function characterOf({ characters: ids = [] }: Pick<Chat, 'characters'>): string | undefined {
  const [id, ...others] = ids;
  return others.length > 0 ? undefined : characters.find(id)?.name;
}
