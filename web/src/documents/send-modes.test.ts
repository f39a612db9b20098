import { describe, expect, test } from 'vitest';
import type { Attachment } from '../conversations/conversation.ts';
import { passageBudget, sendModes } from './send-modes.ts';

const document = (id: string, length: number, send?: Attachment['send']): Attachment => ({
  id,
  kind: 'text',
  name: `${id}.txt`,
  text: 'x'.repeat(length),
  ...(send ? { send } : {}),
});
const modes = (...list: Attachment[]) => Object.fromEntries(sendModes(list, 4096));

describe('sendModes', () => {
  test('a document that fits is sent whole, a longer one as passages', () => {
    expect(modes(document('a', 5000), document('b', 300_000))).toEqual({ a: 'whole', b: 'passages' });
  });

  test('documents share the room, the smallest come first', () => {
    expect(modes(document('a', 5000), document('b', 400), document('c', 4000))).toEqual({
      a: 'passages',
      b: 'whole',
      c: 'whole',
    });
  });

  test('the choice of the person counts', () => {
    expect(modes(document('a', 5000, 'whole'), document('b', 2000), document('c', 100, 'passages'))).toEqual({
      a: 'whole',
      b: 'passages',
      c: 'passages',
    });
  });

  test('images have no mode', () => {
    expect(modes({ id: 'p', kind: 'image', name: 'p.png' })).toEqual({});
  });
});

test.each([
  [0, 3686],
  [1024, 1200],
  [4096, 3686],
  [131_072, 12_000],
])('passageBudget: context of %i tokens, %i characters', (context, characters) => {
  expect(passageBudget(context)).toBe(characters);
});
