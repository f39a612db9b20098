import { expect, test } from 'vitest';
import { relationOf } from './slot-choice.ts';
import { commonPrefix } from './snapshot.ts';

const range = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, index) => from + index);
const join = (...parts: Int32Array[]) => Int32Array.from(parts.flatMap((part) => [...part]));
const system = range(0, 500);
const prompt = join(system, range(1000, 1400));
const chat = { cached: join(prompt, range(5000, 5300)), promptLength: prompt.length };
/** The role of the next turn. */
const mark = 1200;
const relation = (prompt: Int32Array) =>
  relationOf(chat, prompt, commonPrefix(chat.cached, prompt), (token) => token === mark);

test.each<[string, Int32Array]>([
  ['that goes on', join(chat.cached, range(7000, 7050))],
  ['whose reply is asked for again', prompt],
  ['whose reply comes back in other words', join(prompt, range(6000, 6100), range(7000, 7050))],
  ['whose last words were changed', join(prompt.subarray(0, 880), range(8000, 8030))],
])('relationOf: a chat %s continues', (_, prompt) => expect(relation(prompt)).toBe('continues'));

test.each<[string, Int32Array]>([
  ['with another line near the top', join(range(0, 20), range(900, 905), prompt.subarray(21), range(7000, 7050))],
  ['whose beginning was cut', join(range(0, 20), prompt.subarray(300), range(7000, 7050))],
  [
    'with another line near the top, whose prompt ended in tokens that do not come back',
    join(range(0, 20), range(900, 905), prompt.subarray(21, 890), range(7000, 7050)),
  ],
])('relationOf: a chat %s is edited', (_, prompt) => expect(relation(prompt)).toBe('edits'));

test.each<[string, Int32Array]>([
  ['a part of a message', join(range(0, 5), range(7000, 7100), prompt.subarray(300, 600), range(7100, 7110))],
  [
    'all messages, without their roles',
    join(range(0, 5), range(7000, 7100), prompt.subarray(5, 700), range(7100, 7110)),
  ],
])('relationOf: a prompt that contains %s quotes the chat', (_, prompt) => expect(relation(prompt)).toBe('quotes'));

test.each<[string, Int32Array]>([
  ['with the same system prompt', join(system, range(3000, 3100))],
  ['that is as long', join(system, range(3000, 3400))],
  ['that shares nothing', range(9000, 9100)],
])('relationOf: a chat %s is another one', (_, prompt) => expect(relation(prompt)).toBe('other'));

test('relationOf: a few cached tokens continue, none are `other`', () => {
  const few = { cached: range(0, 30), promptLength: 30 };
  expect(relationOf(few, join(range(0, 1), range(50, 90)), 1, () => false)).toBe('continues');
  expect(relationOf({ cached: range(0, 0), promptLength: 0 }, system, 0, () => false)).toBe('other');
});

test('relationOf: repeated tokens take linear time', () => {
  const same = { cached: new Int32Array(200_000).fill(5), promptLength: 200_000 };
  const prompt = join(new Int32Array(50).fill(5), Int32Array.of(6), new Int32Array(150_000).fill(5));
  expect(relationOf(same, prompt, 50, () => false)).toBe('edits');
});
