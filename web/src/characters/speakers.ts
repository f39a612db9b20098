import { type Character, calledName } from '../conversations/character.ts';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { pathTo } from '../conversations/tree.ts';

export interface SpeakerContext {
  readonly characters: readonly Character[];
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** The turns since the last message of the person, which is the first of them. */
function round(path: readonly Turn[]): readonly Turn[] {
  const question = path.findLastIndex(({ role }) => role === 'user');
  return path.slice(Math.max(0, question));
}

/**
 * The character that replies to the last turn of the path; undefined if nobody does. In list order each speaks once after a
 * message of the person, by mention those that it names, else one by chance. In manual order nobody speaks by itself.
 */
export function nextSpeaker(
  chat: Chat,
  path: readonly Turn[],
  { characters, random }: SpeakerContext,
): Character | undefined {
  if (characters.length < 2)
    return path.at(-1)?.role === 'assistant' && path.at(-1)?.speaker ? undefined : characters[0];
  const order = chat.turnOrder ?? 'list';
  if (order === 'manual') return undefined;
  const now = round(path);
  const spoke = new Set(now.map(({ speaker }) => speaker));
  const free = characters.filter(({ id }) => !chat.muted?.includes(id) && !spoke.has(id));
  if (order === 'list') return free[0];
  const last = path.at(-1);
  const named = order === 'mentioned' && last ? free.filter((one) => mentions(last.text, one)) : [];
  if (named.length > 0) return [...named].sort((a, b) => at(last?.text ?? '', a) - at(last?.text ?? '', b))[0];
  // One reply by chance; characters that it names go on.
  return spoke.size > 1 ? undefined : free[Math.floor(random() * free.length)];
}

/** The speaker of a new turn. Another version of a turn has the speaker of the ones before it. */
export function speakerAfter(chat: Chat, parent: string | null, context: SpeakerContext): Character | undefined {
  const siblings = Object.values(chat.turns).filter((turn) => turn.parent === parent && turn.role === 'assistant');
  const before = siblings.sort((a, b) => b.at - a.at).find(({ speaker }) => speaker !== undefined)?.speaker;
  const known = context.characters.find(({ id }) => id === before);
  if (known) return known;
  if (context.characters.length === 1) return context.characters[0];
  return nextSpeaker(chat, pathTo(chat, parent), context);
}

/** In auto-reply mode: the one after the last speaker, in list order. */
export function speakerInTurn(
  chat: Chat,
  path: readonly Turn[],
  { characters }: SpeakerContext,
): Character | undefined {
  const free = characters.filter(({ id }) => !chat.muted?.includes(id));
  const last = path.findLast(({ speaker }) => speaker !== undefined)?.speaker;
  return free[(free.findIndex(({ id }) => id === last) + 1) % Math.max(1, free.length)];
}

/** The name, or one of its parts of three letters or more. */
function namesOf(character: Character): string[] {
  const name = calledName(character);
  return [name, ...name.split(/\s+/).filter((part) => part.length > 2)].map((one) => one.toLowerCase());
}

function at(text: string, character: Character): number {
  const lower = text.toLowerCase();
  const positions = namesOf(character).flatMap((name) => {
    const escaped = name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    const index = lower.search(new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, 'u'));
    return index === -1 ? [] : [index];
  });
  return positions.length > 0 ? Math.min(...positions) : -1;
}

function mentions(text: string, character: Character): boolean {
  return at(text, character) !== -1;
}
