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

test('chooseSlot: a side task with the same system prompt copies it and leaves the chat', () => {
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

test('chooseSlot: copies the prefix of an active slot', () => {
  const busy = { ...chat, busy: true };
  expect(chooseSlot([busy, empty], join(system, range(3000, 3050)), true)).toMatchObject({
    slot: empty,
    copyFrom: busy,
  });
});

test('chooseSlot: does not copy a few common tokens', () => {
  expect(chooseSlot([chat, empty], join(range(0, 5), range(3000, 3050)), true)?.copyFrom).toBeUndefined();
});

test('chooseSlot: does not copy what the memory cannot rewind to', () => {
  const stuck = { ...chat, reach: (index: number) => (index === chat.cached.length ? index : 0) };
  expect(chooseSlot([stuck, empty], join(system, range(3000, 3050)), true)).toMatchObject({
    slot: empty,
    copyFrom: undefined,
  });
});

test('chooseSlot: the oldest free slot if the memory cannot be copied', () => {
  expect(chooseSlot([chat, empty], join(system, range(3000, 3050)), false)).toMatchObject({
    slot: empty,
    copyFrom: undefined,
  });
});

describe('chooseSlot: eviction', () => {
  test('the least recently used slot', () => {
    const older = slot(range(500, 600), 2);
    expect(chooseSlot([chat, older], range(9000, 9010), true)?.slot).toBe(older);
  });
  test('an empty slot first', () => {
    const emptied = slot(range(0, 0), 9);
    expect(chooseSlot([chat, emptied], range(9000, 9010), true)?.slot).toBe(emptied);
  });
  test('a single slot', () => expect(chooseSlot([chat], range(9000, 9010), true)?.slot).toBe(chat));
  test('none while all are active', () =>
    expect(chooseSlot([{ ...chat, busy: true }], range(0, 9), true)).toBeUndefined());
});

describe('chooseSlot: with many slots', () => {
  const used = (count: number, changes: Record<number, Partial<SlotView>> = {}) =>
    Array.from({ length: count }, (_, index) => ({
      ...slot(range(index * 1000, index * 1000 + 100), 100 - index),
      ...changes[index],
    }));
  const chosen = (slots: readonly SlotView[]) => {
    const choice = chooseSlot(slots, range(90_000, 90_100), true);
    return choice && slots.indexOf(choice.slot);
  };

  test('takes an old slot beside a busy one', () => {
    // The higher the index, the older: the recent quarter is 0 to 3.
    expect(chosen(used(16, { 12: { busy: true } }))).toBe(11);
  });

  test('never a recently used one beside a busy one', () => {
    expect(chosen(used(16, { 1: { busy: true } }))).toBe(4);
  });

  test('requests that begin together get slots that follow each other, wave after wave', () => {
    const slots = used(32);
    let time = 1000;
    for (let wave = 0; wave < 6; wave += 1) {
      const taken: number[] = [];
      for (let request = 0; request < 12; request += 1) {
        const index = chosen(slots) as number;
        taken.push(index);
        slots[index] = { ...(slots[index] as SlotView), busy: true };
      }
      expect(Math.max(...taken) - Math.min(...taken)).toBeLessThan(14);
      // They end in another order.
      for (const index of taken.sort((a, b) => (a % 5) - (b % 5))) {
        time += 1;
        slots[index] = slot(range(time * 1000, time * 1000 + 100), time);
      }
    }
  });
});
