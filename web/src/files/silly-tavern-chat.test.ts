import { expect, test } from 'vitest';
import { branchesOf, pathOf } from '../conversations/tree.ts';
import { counting } from '../story/testing/stories.ts';
import { chatOfSillyTavern } from './silly-tavern-chat.ts';

const lines = [
  {
    user_name: 'Maren',
    character_name: 'Ada',
    chat_metadata: { note_prompt: 'Rain.', note_depth: 3, note_role: 1 },
  },
  {
    name: 'Ada',
    is_user: false,
    mes: 'Hello, edited.',
    swipes: ['Go.', 'Hello.'],
    swipe_id: 1,
    send_date: '2024-05-01',
  },
  { name: 'System', is_user: false, is_system: true, mes: 'Hidden.' },
  { name: 'Maren', is_user: true, mes: 'Hi.' },
  { name: 'Bo', is_user: false, mes: 'And me.' },
];

test('chatOfSillyTavern: reads names, swipes and the note, and leaves out hidden messages', () => {
  const { chat, user, characters } = chatOfSillyTavern(lines, counting(), 9_000_000_000_000);
  expect({ user, characters, title: chat.title }).toEqual({
    user: 'Maren',
    characters: ['Ada', 'Bo'],
    title: 'Ada, Bo',
  });
  expect(pathOf(chat).map(({ role, text, name }) => [role, text, name])).toEqual([
    ['assistant', 'Hello, edited.', 'Ada'],
    ['user', 'Hi.', 'Maren'],
    ['assistant', 'And me.', 'Bo'],
  ]);
  expect(branchesOf(chat).get(null)).toMatchObject([{ text: 'Go.' }, { text: 'Hello, edited.' }]);
  expect(chat.note).toEqual({ text: 'Rain.', depth: 3, role: 'user' });
});

test('chatOfSillyTavern: a chat without messages has the character of its first line', () => {
  const { chat, user, characters } = chatOfSillyTavern(
    [{ user_name: 'unused', character_name: 'Ada', chat_metadata: {} }],
    counting(),
    1,
  );
  expect([user, characters, pathOf(chat)]).toEqual(['', ['Ada'], []]);
});
