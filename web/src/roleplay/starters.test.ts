import { expect, test } from 'vitest';
import { starters } from './starters.ts';

test.each(starters)('$name: a whole character, with a greeting to begin a chat', ({ name, make }) => {
  const character = make('id', 5);
  expect(character).toMatchObject({ id: 'id', changedAt: 5, name });
  for (const text of [character.description, character.personality, character.scenario, character.examples])
    expect(text).not.toBe('');
  expect(character.greetings.length).toBeGreaterThan(0);
});
