import { describe, expect, test } from 'vitest';
import { chooseSlot, type SlotView } from './slot-choice.ts';

const range = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, index) => from + index);
const join = (...parts: Int32Array[]) => Int32Array.from(parts.flatMap((part) => [...part]));
const slot = (cached: Int32Array, usedAt: number, busy = false): SlotView => ({
  cached,
  promptLength: cached.length,
  usedAt,
  busy,
  reach: (index) => index,
});
const choose = (slots: readonly SlotView[], prompt: Int32Array, canCopy: boolean, isControl = (_: number) => false) =>
  chooseSlot(slots, { prompt, canCopy, isControl });
const empty = slot(range(0, 0), 0);
const system = range(0, 100);
const chat = slot(join(system, range(1000, 1400)), 5);

test('chooseSlot: a chat continues in its own slot', () => {
  expect(choose([empty, chat], join(chat.cached, range(2000, 2020)), true)).toMatchObject({
    slot: chat,
    copyFrom: undefined,
  });
});

test('chooseSlot: a side task with the same system prompt copies it and leaves the chat', () => {
  expect(choose([chat, empty], join(system, range(3000, 3050)), true)).toEqual({
    slot: empty,
    copyFrom: chat,
    reusable: 100,
  });
});

test('chooseSlot: a second chat with the same system prompt gets another slot', () => {
  const long = range(0, 490);
  const first = slot(join(long, range(1000, 1100)), 5);
  expect(choose([first, empty], join(long, range(2000, 2100)), true)).toMatchObject({
    slot: empty,
    copyFrom: first,
  });
});

test('chooseSlot: copies the prefix of an active slot', () => {
  const busy = { ...chat, busy: true };
  expect(choose([busy, empty], join(system, range(3000, 3050)), true)).toMatchObject({
    slot: empty,
    copyFrom: busy,
  });
});

test('chooseSlot: does not copy a few common tokens', () => {
  expect(choose([chat, empty], join(range(0, 5), range(3000, 3050)), true)?.copyFrom).toBeUndefined();
});

test('chooseSlot: does not copy what the memory cannot rewind to', () => {
  const stuck = { ...chat, reach: (index: number) => (index === chat.cached.length ? index : 0) };
  expect(choose([stuck, empty], join(system, range(3000, 3050)), true)).toMatchObject({
    slot: empty,
    copyFrom: undefined,
  });
});

test('chooseSlot: the oldest free slot if the memory cannot be copied', () => {
  expect(choose([chat, empty], join(system, range(3000, 3050)), false)).toMatchObject({
    slot: empty,
    copyFrom: undefined,
  });
});

describe('chooseSlot: a prompt that quotes a chat', () => {
  const title = join(range(0, 3), range(7000, 7100), range(1100, 1300), range(7200, 7210));

  test('does not take its slot while another one is free', () => {
    const recent = slot(range(500, 900), 9);
    expect(choose([chat, empty], title, true)?.slot).toBe(empty);
    expect(choose([chat, recent], title, true)?.slot).toBe(recent);
  });

  test('does not take its slot next to a busy one, although the chat is short', () => {
    const busy = { ...slot(range(500, 900), 1), busy: true };
    const other = slot(range(5000, 6000), 9);
    expect(choose([busy, chat, other], title, true)?.slot).toBe(other);
  });

  test('takes its slot if there is no other one', () => expect(choose([chat], title, true)?.slot).toBe(chat));
});

test('chooseSlot: a chat whose beginning was cut stays in its slot', () => {
  const cut = join(range(0, 20), chat.cached.subarray(180), range(8000, 8020));
  expect(choose([chat, empty], cut, true)?.slot).toBe(chat);
});

describe('chooseSlot: eviction', () => {
  test('the least recently used slot', () => {
    const older = slot(range(500, 600), 2);
    expect(choose([chat, older], range(9000, 9010), true)?.slot).toBe(older);
  });
  test('an empty slot first', () => {
    const emptied = slot(range(0, 0), 9);
    expect(choose([chat, emptied], range(9000, 9010), true)?.slot).toBe(emptied);
  });
  test('a single slot', () => expect(choose([chat], range(9000, 9010), true)?.slot).toBe(chat));
  test('none while all are active', () => expect(choose([{ ...chat, busy: true }], range(0, 9), true)).toBeUndefined());
});

describe('chooseSlot: with many slots', () => {
  const used = (count: number, changes: Record<number, Partial<SlotView>> = {}, length = 600) =>
    Array.from({ length: count }, (_, index) => ({
      ...slot(range(index * 1000, index * 1000 + length), 100 - index),
      ...changes[index],
    }));
  const chosen = (slots: readonly SlotView[]) => {
    const choice = choose(slots, range(90_000, 90_100), true);
    return choice && slots.indexOf(choice.slot);
  };

  test('takes an old slot next to a busy one', () => {
    // The higher the index, the older: the recent quarter is 0 to 3.
    expect(chosen(used(16, { 12: { busy: true } }))).toBe(13);
  });

  test('never takes a recently used one next to a busy one', () => {
    expect(chosen(used(16, { 1: { busy: true } }))).toBe(4);
  });

  test('takes a recently used one next to a busy one if its sequence is short', () => {
    expect(chosen(used(16, { 1: { busy: true } }, 300))).toBe(2);
  });

  test('four slots: does not evict a long sequence next to a busy slot', () => {
    expect(chosen(used(4, { 1: { busy: true } }))).toBe(3);
  });

  test('four slots: evicts nothing while one is empty', () => {
    expect(chosen(used(4, { 0: { busy: true }, 3: empty }, 300))).toBe(3);
    expect(chosen(used(4, { 0: { busy: true } }, 300))).toBe(1);
  });

  test('no active slot: takes the start of the longest run', () => {
    const recent = { usedAt: 500 };
    expect(chosen(used(16, { 3: recent, 4: recent, 5: recent, 6: recent }))).toBe(7);
  });

  const random = (seed: number) => {
    let state = seed;
    return () => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return state / 2 ** 31;
    };
  };
  const passes = (indices: readonly number[]) => indices.filter((index) => !indices.includes(index - 1)).length;

  /** Requests that begin and end, with texts of this length. */
  function traffic(slots: SlotView[], length: number) {
    const busy: number[] = [];
    let time = 1000;
    return {
      busy,
      begin() {
        const index = chosen(slots) as number;
        slots[index] = { ...(slots[index] as SlotView), busy: true };
        busy.push(index);
      },
      end(place: number) {
        const [index = 0] = busy.splice(place, 1);
        time += 1;
        slots[index] = slot(range(time * 1000, time * 1000 + length), time);
      },
    };
  }

  test.each([
    { count: 8, length: 300, most: 1 },
    { count: 16, length: 300, most: 1 },
    { count: 16, length: 2000, most: 1.3 },
    { count: 32, length: 2000, most: 1.05 },
  ])(
    'waves of 1 to 12 requests in $count slots with texts of $length tokens: $most passes',
    ({ count, length, most }) => {
      const next = random(3);
      const { busy, begin, end } = traffic(used(count), length);
      let sum = 0;
      for (let wave = 0; wave < 60; wave += 1) {
        const requests = 1 + Math.floor(next() * Math.min(count, 12));
        for (let request = 0; request < requests; request += 1) begin();
        if (wave >= 10) sum += passes(busy);
        while (busy.length > 0) end(Math.floor(next() * busy.length));
      }
      expect(sum / 50).toBeLessThanOrEqual(most);
    },
  );

  test.each([8, 16, 32])('%i slots, a quarter of them busy with short requests: one pass per step', (count) => {
    const next = random(4);
    const { busy, begin, end } = traffic(used(count), 300);
    for (let request = 0; request < 200; request += 1) {
      if (busy.length >= count / 4) end(Math.floor(next() * busy.length));
      begin();
      if (request > 50) expect(passes(busy)).toBe(1);
    }
  });
});
