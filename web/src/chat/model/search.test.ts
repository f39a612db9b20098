import { describe, expect, test } from 'vitest';
import type { Chat } from './conversation.ts';
import { chatGroups, matchingChats } from './search.ts';
import { emptyChat, renamed, withTurn } from './tree.ts';

function chat(title: string, text = '', folder = '', changedAt = 0): Chat {
  const said = withTurn(emptyChat(title, 0, folder), { id: 't', parent: null, role: 'user', text, at: 0 });
  return { ...renamed(said, title), changedAt };
}
const titles = (chats: readonly Chat[]): string[] => chats.map(({ title }) => title);

describe('matchingChats', () => {
  const chats = [chat('Bread', 'How long does rye bake?'), chat('Trip', 'Trains to Bergen', 'Travel'), chat('Bergen')];

  test('searches titles, folders and messages, in any case', () => {
    expect(titles(matchingChats(chats, 'bergen'))).toEqual(['Trip', 'Bergen']);
    expect(titles(matchingChats(chats, 'TRAVEL'))).toEqual(['Trip']);
  });

  test('requires all words', () => {
    expect(titles(matchingChats(chats, 'bread rye'))).toEqual(['Bread']);
    expect(matchingChats(chats, 'bread bergen')).toEqual([]);
  });

  test('returns all chats for an empty query', () => {
    expect(matchingChats(chats, '  ')).toHaveLength(3);
  });
});

describe('chatGroups', () => {
  const now = new Date(2026, 10, 16, 12, 0);
  const hours = (count: number): number => now.getTime() - count * 3_600_000;

  test('lists folders by name, then other chats by age', () => {
    const list = chatGroups(
      [
        chat('old', '', '', hours(24 * 60)),
        chat('now', '', '', hours(1)),
        chat('b', '', 'Part 10', hours(2)),
        chat('a', '', 'Part 2', hours(3)),
        chat('week', '', '', hours(24 * 4)),
        chat('month', '', '', hours(24 * 20)),
        chat('before', '', '', hours(20)),
      ],
      now,
    );
    expect(list.map(({ title }) => title)).toEqual([
      'Part 2',
      'Part 10',
      'Today',
      'Yesterday',
      'Last 7 days',
      'Last 30 days',
      'Earlier',
    ]);
    expect(list.map(({ folder }) => folder)).toEqual([true, true, false, false, false, false, false]);
  });

  test('lists the newest first', () => {
    const [today] = chatGroups([chat('first', '', '', hours(3)), chat('last', '', '', hours(1))], now);
    expect(titles(today?.chats ?? [])).toEqual(['last', 'first']);
  });

  test('groups a minute before midnight as yesterday', () => {
    const midnight = new Date(2026, 10, 16).getTime();
    expect(chatGroups([chat('x', '', '', midnight - 60_000)], now)[0]?.title).toBe('Yesterday');
    expect(chatGroups([chat('x', '', '', midnight)], now)[0]?.title).toBe('Today');
  });
});
