import { expect, test } from 'vitest';
import { character } from '../characters/testing/cast.ts';
import { branchesOf, pathOf } from '../conversations/tree.ts';
import { counting } from '../story/testing/stories.ts';
import { newCharacterChat } from './new-chat.ts';

const ada = character({ name: 'Ada', nickname: 'Addie', greetings: ['Hi, {{user}}.', 'Ho.'] });

test('newCharacterChat: begins with the greeting, with the alternate ones as versions', () => {
  const chat = newCharacterChat([ada], { newId: counting(), now: 5, persona: 'p' });
  expect(chat).toMatchObject({ title: 'Addie', characters: ['ada'], persona: 'p' });
  expect(pathOf(chat)).toMatchObject([{ role: 'assistant', text: 'Hi, {{user}}.', speaker: 'ada', name: 'Addie' }]);
  expect(branchesOf(chat).get(null)).toMatchObject([{ text: 'Hi, {{user}}.' }, { text: 'Ho.' }]);
});

test('newCharacterChat: in a group each greets', () => {
  const others = [character({ name: 'Bo' }), character({ name: 'Cy', greetings: ['Yes?'] })];
  const chat = newCharacterChat([ada, ...others], { newId: counting(), now: 5 });
  expect(chat.title).toBe('Addie, Bo, Cy');
  expect(pathOf(chat).map(({ text }) => text)).toEqual(['Hi, {{user}}.', 'Yes?']);
});
