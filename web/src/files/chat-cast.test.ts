import { expect, test } from 'vitest';
import { newCharacter, type Persona } from '../conversations/character.ts';
import { emptyChat, withTurn } from '../conversations/tree.ts';
import { newEntry } from '../story/story.ts';
import { castOfChats, castOfFile, packedCast } from './chat-cast.ts';

const parts = {
  newId: () => 'new',
  now: 9,
  toBlob: (url: string) => new Blob([atob(url.split(',')[1] ?? '')], { type: 'image/png' }),
};
const toDataUrl = async (blob: Blob): Promise<string> => `data:${blob.type};base64,${btoa(await blob.text())}`;
const ada = newCharacter({
  id: 'ada',
  changedAt: 1,
  name: 'Ada',
  greetings: ['Hello.'],
  voice: 'slt',
  world: [newEntry({ id: 'e', keys: ['lamp'], content: 'Oil.' })],
  picture: new Blob(['pixels'], { type: 'image/png' }),
});
const bo = newCharacter({ id: 'bo', changedAt: 1, name: 'Bo' });
const maren: Persona = { id: 'maren', changedAt: 1, name: 'Maren', description: 'A keeper.' };
const all = { characters: [ada, bo], personas: [maren, { ...maren, id: 'other' }] };

test('castOfChats: the characters and personas that the chats name', () => {
  const chat = { ...emptyChat('c', 1), characters: ['ada'], persona: 'maren' };
  expect(castOfChats([chat], all)).toEqual({ characters: [ada], personas: [maren] });
  expect(castOfChats([emptyChat('c', 1)], all)).toEqual({ characters: [], personas: [] });
});

test('castOfChats: a character that only spoke', () => {
  const turn = { id: 't', parent: null, role: 'assistant', text: 'Woof.', at: 1, speaker: 'bo' } as const;
  expect(castOfChats([withTurn(emptyChat('c', 1), turn)], all).characters).toEqual([bo]);
});

test('castOfFile: what packedCast has written', async () => {
  const file = JSON.parse(JSON.stringify(await packedCast({ characters: [ada], personas: [maren] }, toDataUrl)));
  const { characters, personas } = castOfFile(file, parts);
  expect(personas).toEqual([{ ...maren, changedAt: 9 }]);
  expect(characters[0]).toMatchObject({ id: 'ada', name: 'Ada', greetings: ['Hello.'], voice: 'slt' });
  expect(characters[0]?.world[0]).toMatchObject({ keys: ['lamp'], content: 'Oil.' });
  expect(await characters[0]?.picture?.text()).toBe('pixels');
});

test.each([[undefined], [{ characters: 1, personas: [{}, null, 'x'] }]])('castOfFile: %j has nobody', (file) => {
  expect(castOfFile(file, parts)).toEqual({ characters: [], personas: [] });
});

test('castOfFile: leaves out a damaged picture', () => {
  const damaged = { ...parts, toBlob: () => atob('é') as never };
  const [one] = castOfFile({ characters: [{ id: 'x', picture: 'data:image/png,é', card: {} }] }, damaged).characters;
  expect(one?.picture).toBeUndefined();
});
