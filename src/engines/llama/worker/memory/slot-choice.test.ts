import { describe, expect, test } from 'vitest';
import { chooseSlot, type SlotView } from './snapshot.ts';

const range = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, index) => from + index);
const join = (...parts: Int32Array[]) => Int32Array.from(parts.flatMap((part) => [...part]));
const slot = (cached: Int32Array, usedAt: number, busy = false): SlotView => ({
  cached,
  asked: cached.length,
  usedAt,
  busy,
  reach: (index) => index,
});
const empty = slot(range(0, 0), 0);
const system = range(0, 100);
const chat = slot(join(system, range(1000, 1400)), 5);

test('chooseSlot: a chat continues in its own slot', () => {
  expect(chooseSlot([empty, chat], join(chat.cached, range(2000, 2020)), true)).toMatchObject({
    slot: chat,
    copyFrom: undefined,
  });
});

test('a side task that shares the system prompt leaves the chat alone and copies what it shares', () => {
  expect(chooseSlot([chat, empty], join(system, range(3000, 3050)), true)).toEqual({
    slot: empty,
    copyFrom: chat,
    atHand: 100,
  });
});

test('chooseSlot: a second chat with the same system prompt gets another slot', () => {
  const long = range(0, 490);
  const first = slot(join(long, range(1000, 1100)), 5);
  expect(chooseSlot([first, empty], join(long, range(2000, 2100)), true)).toMatchObject({
    slot: empty,
    copyFrom: first,
  });
});

test('the beginning of a slot that is at work can be copied too', () => {
  const busy = { ...chat, busy: true };
  expect(chooseSlot([busy, empty], join(system, range(3000, 3050)), true)).toMatchObject({
    slot: empty,
    copyFrom: busy,
  });
});

test('a few common tokens are not copied', () => {
  expect(chooseSlot([chat, empty], join(range(0, 5), range(3000, 3050)), true)?.copyFrom).toBeUndefined();
});

test('what the memory of another slot cannot go back to is not copied', () => {
  const stuck = { ...chat, reach: (index: number) => (index === chat.cached.length ? index : 0) };
  expect(chooseSlot([stuck, empty], join(system, range(3000, 3050)), true)).toMatchObject({
    slot: empty,
    copyFrom: undefined,
  });
});

test('a memory that cannot be copied takes the oldest free slot', () => {
  expect(chooseSlot([chat, empty], join(system, range(3000, 3050)), false)).toMatchObject({
    slot: empty,
    copyFrom: undefined,
  });
});

describe('which slot is given up', () => {
  test('the one not used for the longest time', () => {
    const older = slot(range(500, 600), 2);
    expect(chooseSlot([chat, older], range(9000, 9010), true)?.slot).toBe(older);
  });
  test('an empty slot first', () => {
    const emptied = slot(range(0, 0), 9);
    expect(chooseSlot([chat, emptied], range(9000, 9010), true)?.slot).toBe(emptied);
  });
  test('with a single slot, that one', () => expect(chooseSlot([chat], range(9000, 9010), true)?.slot).toBe(chat));
  test('none while all are at work', () =>
    expect(chooseSlot([{ ...chat, busy: true }], range(0, 9), true)).toBeUndefined());
});
