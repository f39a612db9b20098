import type { Chat } from '../conversations/conversation.ts';
import { type Story, textOf, titleOf } from '../story/story.ts';
import { texts } from './texts.ts';

export type ItemKind = 'chat' | 'character' | 'story';

/** An entry of the list: a chat, a chat with characters, or a story. */
export interface Item {
  readonly id: string;
  readonly kind: ItemKind;
  readonly title: string;
  readonly folder: string;
  readonly pinned: boolean;
  readonly changedAt: number;
  readonly source: { readonly chat: Chat } | { readonly story: Story };
}

interface ItemGroup {
  /** Name of a folder, or a period such as `Today`. */
  readonly title: string;
  readonly kind: 'pinned' | 'folder' | 'period';
  readonly items: readonly Item[];
}

export function itemOfChat(chat: Chat): Item {
  return {
    id: chat.id,
    kind: chat.characters && chat.characters.length > 0 ? 'character' : 'chat',
    title: chat.title || texts.untitledChat,
    folder: chat.folder,
    pinned: chat.pinned === true,
    changedAt: chat.changedAt,
    source: { chat },
  };
}

function itemOfStory(story: Story): Item {
  return {
    id: story.id,
    kind: 'story',
    title: titleOf(story),
    folder: story.folder ?? '',
    pinned: story.pinned === true,
    changedAt: story.changed,
    source: { story },
  };
}

/** Chats and stories are immutable, so that the entry of an unchanged one is made once. */
const made = new WeakMap<Chat | Story, Item>();

export function itemsOf(chats: readonly Chat[], stories: readonly Story[]): Item[] {
  const item = <Source extends Chat | Story>(source: Source, make: (source: Source) => Item): Item => {
    const known = made.get(source) ?? make(source);
    made.set(source, known);
    return known;
  };
  return [...chats.map((chat) => item(chat, itemOfChat)), ...stories.map((story) => item(story, itemOfStory))];
}

function textsIn({ source }: Item): Iterable<string> {
  if ('chat' in source) return Object.values(source.chat.turns).map(({ text }) => text);
  const { story } = source;
  return [...story.passages.map(textOf), story.memory, story.note.text];
}

/** Items of this kind that contain all words in their title, folder or text. */
export function matchingItems(items: readonly Item[], query: string, kind?: ItemKind): Item[] {
  const ofKind = kind === undefined ? [...items] : items.filter((item) => item.kind === kind);
  const words = wordsOf(query);
  if (words.length === 0) return ofKind;
  return ofKind.filter((item) => {
    const title = `${item.title}\n${item.folder}`.toLowerCase();
    let missing = words.filter((word) => !title.includes(word));
    if (missing.length === 0) return true;
    for (const text of textsIn(item)) {
      const lower = text.toLowerCase();
      missing = missing.filter((word) => !lower.includes(word));
      if (missing.length === 0) return true;
    }
    return false;
  });
}

/** How much of a text is shown around what was found. */
const before = 24;
const around = 90;

/** The passage in which the search was found; undefined if the title or the folder says it all. */
export function foundPassage(item: Item, query: string): string | undefined {
  const title = `${item.title}\n${item.folder}`.toLowerCase();
  const missing = wordsOf(query).filter((word) => !title.includes(word));
  for (const word of missing) {
    for (const text of textsIn(item)) {
      const at = text.toLowerCase().indexOf(word);
      if (at < 0) continue;
      const start = at <= before ? 0 : wordStart(text, at - before, at);
      const end = Math.min(text.length, start + around);
      const passage = text.slice(start, end).replaceAll(/\s+/g, ' ').trim();
      return `${start > 0 ? '… ' : ''}${passage}${end < text.length ? ' …' : ''}`;
    }
  }
  return undefined;
}

/** The first beginning of a word from `from` on, at most `to`. */
function wordStart(text: string, from: number, to: number): number {
  const space = /\s/.exec(text.slice(from, to));
  return space ? from + space.index + 1 : from;
}

function wordsOf(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

/** Pinned items, folders by name, then the others by age; the newest first. */
export function itemGroups(items: readonly Item[], now: Date): ItemGroup[] {
  const sorted = [...items].sort((a, b) => b.changedAt - a.changedAt);
  const pinned = sorted.filter((item) => item.pinned);
  const others = sorted.filter((item) => !item.pinned);
  const folders = [...new Set(others.map(({ folder }) => folder))].filter((name) => name !== '').sort(byName);
  const periods = new Map<string, Item[]>();
  for (const item of others.filter(({ folder }) => folder === '')) {
    const period = periodOf(item.changedAt, now);
    periods.set(period, [...(periods.get(period) ?? []), item]);
  }
  return [
    ...(pinned.length > 0 ? [{ title: texts.groups.pinned, kind: 'pinned' as const, items: pinned }] : []),
    ...folders.map((title) => ({
      title,
      kind: 'folder' as const,
      items: others.filter(({ folder }) => folder === title),
    })),
    ...[...periods].map(([title, list]) => ({ title, kind: 'period' as const, items: list })),
  ];
}

/** The item before or after this one in the shown order; the first one if it is not in the list. */
export function neighbour(groups: readonly ItemGroup[], id: string | undefined, by: 1 | -1): Item | undefined {
  const shown = groups.flatMap(({ items }) => items);
  const at = shown.findIndex((item) => item.id === id);
  return at < 0 ? shown[0] : shown[at + by];
}

export function foldersOf(items: readonly Item[]): string[] {
  return [...new Set(items.map(({ folder }) => folder))].filter((name) => name !== '').sort(byName);
}

const byName = (a: string, b: string): number => a.localeCompare(b, undefined, { numeric: true });

function periodOf(time: number, now: Date): string {
  const { groups } = texts;
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const days = Math.ceil((midnight - time) / 86_400_000);
  if (days <= 0) return groups.today;
  if (days === 1) return groups.yesterday;
  if (days <= 7) return groups.week;
  return days <= 30 ? groups.month : groups.earlier;
}
