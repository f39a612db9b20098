import { expect, test } from 'vitest';
import { isSameChat } from './slot-choice.ts';
import { commonPrefix } from './snapshot.ts';

const range = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, index) => from + index);
const join = (...parts: Int32Array[]) => Int32Array.from(parts.flatMap((part) => [...part]));
const system = range(0, 500);
const prompt = join(system, range(1000, 1400));
const chat = { cached: join(prompt, range(5000, 5300)), asked: prompt.length };
const isSame = (wanted: Int32Array) => isSameChat(chat, wanted, commonPrefix(chat.cached, wanted));

test.each<[string, Int32Array]>([
  ['that goes on', join(chat.cached, range(7000, 7050))],
  ['whose reply is asked for again', prompt],
  ['whose reply comes back in other words', join(prompt, range(6000, 6100), range(7000, 7050))],
  ['whose last words were changed', join(prompt.subarray(0, 880), range(8000, 8030))],
  ['with another line near the top', join(range(0, 20), range(900, 905), prompt.subarray(21), range(7000, 7050))],
])('isSameChat: true for a chat %s', (_, wanted) => expect(isSame(wanted)).toBe(true));

test.each<[string, Int32Array]>([
  ['with the same system prompt', join(system, range(3000, 3100))],
  ['that is as long', join(system, range(3000, 3400))],
  ['that shares nothing', range(9000, 9100)],
])('isSameChat: false for a chat %s', (_, wanted) => expect(isSame(wanted)).toBe(false));

test('isSameChat: false for few or no tokens', () => {
  const few = { cached: range(0, 30), asked: 30 };
  expect(isSameChat(few, join(range(0, 1), range(50, 90)), 1)).toBe(true);
  expect(isSameChat({ cached: range(0, 0), asked: 0 }, system, 0)).toBe(false);
});
