import type { Chat } from './conversation.ts';

export interface ChatGroup {
  /** Name of a folder, or a period such as `Today`. */
  readonly title: string;
  readonly folder: boolean;
  readonly chats: readonly Chat[];
}

/** Chats that contain all words in their title, folder or turns. */
export function matchingChats(chats: readonly Chat[], query: string): Chat[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...chats];
  return chats.filter((chat) => {
    const title = `${chat.title}\n${chat.folder}`.toLowerCase();
    const missing = words.filter((word) => !title.includes(word));
    if (missing.length === 0) return true;
    const texts = Object.values(chat.turns).map(({ text }) => text.toLowerCase());
    return missing.every((word) => texts.some((text) => text.includes(word)));
  });
}

/** Folders by name, then other chats by age; the newest first. */
export function chatGroups(chats: readonly Chat[], now: Date): ChatGroup[] {
  const sorted = [...chats].sort((a, b) => b.changedAt - a.changedAt);
  const folders = [...new Set(sorted.map(({ folder }) => folder))].filter((name) => name !== '').sort(byName);
  const loose = new Map<string, Chat[]>();
  for (const chat of sorted.filter(({ folder }) => folder === '')) {
    const title = ageOf(chat.changedAt, now);
    const shelf = loose.get(title);
    if (shelf) shelf.push(chat);
    else loose.set(title, [chat]);
  }
  return [
    ...folders.map((title) => ({ title, folder: true, chats: sorted.filter(({ folder }) => folder === title) })),
    ...[...loose].map(([title, shelved]) => ({ title, folder: false, chats: shelved })),
  ];
}

const byName = (a: string, b: string): number => a.localeCompare(b, undefined, { numeric: true });

function ageOf(time: number, now: Date): string {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const days = Math.ceil((midnight - time) / 86_400_000);
  if (days <= 0) return 'Today';
  if (days === 1) return 'Yesterday';
  if (days <= 7) return 'Last 7 days';
  return days <= 30 ? 'Last 30 days' : 'Earlier';
}
