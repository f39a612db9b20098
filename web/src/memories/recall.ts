import { change, chatRecords } from '../conversations/library.svelte.ts';
import { withChange } from '../conversations/tree.ts';
import { characterOf, findMemories } from './memories.ts';

const maxQuery = 4000;

/** Finds what is remembered about a message. It is kept in `turn.memories`, so that the prompt of later turns begins the same. */
export async function recall(chatId: string, turnId: string | null, signal: AbortSignal): Promise<void> {
  const chat = chatRecords.find(chatId);
  const turn = turnId === null ? undefined : chat?.turns[turnId];
  if (!chat || !turn || turn.role !== 'user' || turn.memories || turn.text.trim() === '') return;
  try {
    const recalled = await findMemories(turn.text.slice(-maxQuery), characterOf(chat), signal);
    const memories = recalled.map(({ text }) => text);
    change(chatId, (now) => withChange(now, turn.id, { memories }));
  } catch {
    // The message is sent without them; with the next one it is tried again.
    signal.throwIfAborted();
  }
}
