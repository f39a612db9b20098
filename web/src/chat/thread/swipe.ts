import { retry } from '../actions.ts';
import { drawAgain } from '../drawing.svelte.ts';
import { change } from '../library.svelte.ts';
import type { Turn } from '../model/conversation.ts';
import { withChosen } from '../model/tree.ts';

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
