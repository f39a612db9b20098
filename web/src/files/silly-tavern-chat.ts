import { type Fields, fieldsOf, flagIn, numberIn, textIn, textsIn } from '../api/loose.ts';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { emptyChat, renamed } from '../conversations/tree.ts';

/** A chat of SillyTavern with the names in it: characters are found or made by name. */
export interface NamedChat {
  readonly chat: Chat;
  readonly user: string;
  readonly characters: readonly string[];
}

const reserved = ['', 'unused', 'You', 'User'];

/** JSON Lines: a line about the chat, then one line per message. */
export function isSillyTavernChat(lines: readonly unknown[]): boolean {
  const [first, second] = lines.map(fieldsOf);
  return isMessage(first ?? {}) || (first !== undefined && 'chat_metadata' in first) || isMessage(second ?? {});
}

function isMessage(line: Fields): boolean {
  return typeof line.mes === 'string' && typeof line.name === 'string';
}

export function chatOfSillyTavern(lines: readonly unknown[], newId: () => string, now: number): NamedChat {
  const head = fieldsOf(lines[0]);
  // Hidden messages are notes of the program.
  const messages = lines.map(fieldsOf).filter((line) => isMessage(line) && !flagIn(line.is_system, false));
  const turns: Turn[] = [];
  const chosen: Record<string, string> = {};
  let parent: string | null = null;
  let at = now - messages.length * 1000;
  for (const message of messages) {
    const versions = versionsOf(message);
    const shown = Math.min(versions.length - 1, Math.max(0, Math.trunc(numberIn(message.swipe_id, 0))));
    const sentAt: number = timeOf(message.send_date) ?? at;
    at = Math.max(at + 1000, sentAt);
    const siblings: Turn[] = versions.map((text, index) => ({
      id: newId(),
      parent,
      role: flagIn(message.is_user, false) ? 'user' : 'assistant',
      text: text.replaceAll('\r\n', '\n'),
      at: at + index,
      name: textIn(message.name),
    }));
    turns.push(...siblings);
    const next = siblings[shown];
    if (!next) continue;
    chosen[parent ?? 'root'] = next.id;
    parent = next.id;
  }
  const characters = [...new Set(turns.flatMap(({ role, name = '' }) => (role === 'assistant' && name ? [name] : [])))];
  const known = textIn(head.character_name);
  const named = characters.length > 0 || reserved.includes(known) ? characters : [known];
  const user = turns.findLast(({ role }) => role === 'user')?.name ?? textIn(head.user_name);
  const note = noteOf(fieldsOf(head.chat_metadata));
  const chat: Chat = {
    ...emptyChat(newId(), now),
    changedAt: turns.at(-1)?.at ?? now,
    turns: Object.fromEntries(turns.map((turn) => [turn.id, turn])),
    chosen,
    ...note,
  };
  return {
    chat: renamed(chat, named.join(', ')),
    user: reserved.includes(user) ? '' : user,
    characters: named,
  };
}

/** The text of `mes` is newer than that in the list. */
function versionsOf(message: Fields): string[] {
  const shown = Math.trunc(numberIn(message.swipe_id, 0));
  const swipes = textsIn(message.swipes, 1000);
  return swipes[shown] === undefined ? [textIn(message.mes)] : swipes.with(shown, textIn(message.mes));
}

function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'number' ? value : Date.parse(textIn(value));
  return Number.isFinite(time) && time > 0 ? time : undefined;
}

function noteOf({ note_prompt, note_depth, note_role }: Fields): Pick<Chat, 'note'> {
  const text = textIn(note_prompt);
  if (text.trim() === '') return {};
  const role = (['system', 'user', 'assistant'] as const)[numberIn(note_role, 0)] ?? 'system';
  return { note: { text, depth: Math.max(0, Math.trunc(numberIn(note_depth, 4))), role } };
}
