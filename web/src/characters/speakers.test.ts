import { describe, expect, test } from 'vitest';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { chatOfLine } from '../conversations/tree.ts';
import { nextSpeaker, speakerAfter, speakerInTurn } from './speakers.ts';
import { character, turns } from './testing/cast.ts';

const characters = ['Ada', 'Bo', 'Cy'].map((name) => character({ name }));
const parts = { characters, random: () => 0.5 };
const chatOf = (path: readonly Turn[], fields: Partial<Chat> = {}): Chat => ({
  ...chatOfLine('c', path, 1),
  ...fields,
});
const next = (path: readonly Turn[], fields: Partial<Chat> = {}): string | undefined =>
  nextSpeaker(chatOf(path, fields), path, parts)?.name;

describe('nextSpeaker', () => {
  test.each([
    ['list', 'begins with the first', ['me:Hi.'], {}, 'Ada'],
    ['list', 'goes on with the next', ['me:Hi.', 'Ada:Hi.'], {}, 'Bo'],
    ['list', 'ends after all', ['me:Hi.', 'Ada:Hi.', 'Bo:Hi.', 'Cy:Hi.'], {}, undefined],
    ['list', 'begins again with the next message', ['me:Hi.', 'Ada:Hi.', 'me:So?'], {}, 'Ada'],
    ['list', 'leaves out muted ones', ['me:Hi.'], { muted: ['ada'] }, 'Bo'],
    ['mentioned', 'takes the one that is named first', ['me:Cy and Bo!'], {}, 'Cy'],
    ['mentioned', 'goes on with those that a reply names', ['me:Bo!', 'Bo:Ask Ada.'], {}, 'Ada'],
    ['mentioned', 'ignores parts of words', ['me:A boat.'], {}, 'Bo'],
    ['mentioned', 'ends if nobody is named', ['me:Hi.', 'Ada:Hi.'], {}, undefined],
    ['random', 'takes one by chance', ['me:Ada!'], {}, 'Bo'],
    ['random', 'ends after one', ['me:Hi.', 'Bo:Hi.'], {}, undefined],
    ['manual', 'takes nobody', ['me:Ada!'], {}, undefined],
  ] as [NonNullable<Chat['turnOrder']>, string, string[], Partial<Chat>, string | undefined][])(
    'in order %s %s',
    (turnOrder, _, lines, fields, expected) => {
      expect(next(turns(...lines), { turnOrder, ...fields })).toBe(expected);
    },
  );
});

test('speakerAfter: another version has the same speaker', () => {
  const path = turns('me:Hi.', 'Cy:Hi.');
  expect(speakerAfter(chatOf(path), 't0', parts)?.name).toBe('Cy');
  expect(speakerAfter(chatOf(path), 't1', parts)?.name).toBe('Ada');
  const [only] = characters;
  expect(speakerAfter(chatOf([]), null, { ...parts, characters: only ? [only] : [] })?.name).toBe('Ada');
});

test('speakerInTurn: takes the one after the last speaker', () => {
  const path = turns('me:Hi.', 'Ada:Hi.', 'Cy:Hi.');
  expect(speakerInTurn(chatOf(path), path, parts)?.name).toBe('Ada');
  expect(speakerInTurn(chatOf(path, { muted: ['ada'] }), path, parts)?.name).toBe('Bo');
});
