import type { Turn } from '../../conversations/conversation.ts';
import { change } from '../../conversations/library.svelte.ts';
import { withChosen } from '../../conversations/tree.ts';
import { drawAgain } from '../../replies/drawing.svelte.ts';
import { retry } from '../actions.ts';

/** Makes another version of a reply or a picture. */
export function again(chatId: string, turn: Turn): void {
  if (turn.drawn === undefined) retry(chatId, turn);
  else void drawAgain(chatId, turn);
}

/** Shows the version at this index. After the last version of a reply a new one is made; greetings begin again. */
export function showVersion(chatId: string, turn: Turn, versions: readonly Turn[], index: number): void {
  const other = turn.parent === null ? versions.at(index % versions.length) : versions[index];
  if (other && other !== turn) change(chatId, (chat) => withChosen(chat, other.id));
  else if (!other && index >= versions.length && turn.role === 'assistant') again(chatId, turn);
}
