import { expect, test } from 'vitest';
import type { Turn } from '../../conversations/conversation.ts';
import { lastModel, modelChanges } from './model-changes.ts';

let count = 0;
const turn = (role: Turn['role'], more: Partial<Turn> = {}): Turn => ({
  id: `t${count++}`,
  parent: null,
  role,
  text: 'Hi',
  at: 1,
  ...more,
});
const reply = (model: string, more: Partial<Turn> = {}): Turn => turn('assistant', { model, ...more });

test('modelChanges: marks each reply of another model than the reply before', () => {
  const [first, same, other, back] = [reply('a'), reply('a'), reply('b'), reply('a')];
  const path = [turn('user'), first, turn('user'), same, turn('user'), other, back];
  expect([...modelChanges(path)]).toEqual([
    [other.id, 'b'],
    [back.id, 'a'],
  ]);
  expect(lastModel(path)).toBe('a');
});

test('modelChanges: greetings, images and failed replies are not answers', () => {
  const path = [
    turn('assistant'),
    reply('a'),
    reply('b', { text: '', failed: 'Out of memory.' }),
    reply('c', { drawn: 'a cat' }),
    reply(''),
    reply('a'),
  ];
  expect([...modelChanges(path)]).toEqual([]);
  expect(lastModel(path)).toBe('a');
  expect(lastModel([turn('user'), turn('assistant')])).toBeUndefined();
});
