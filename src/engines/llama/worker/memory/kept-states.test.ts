import { describe, expect, test } from 'vitest';
import { CopyCosts, type KeptState, stateBound, statesToDrop } from './kept-states.ts';
import { commonPrefix } from './snapshot.ts';

const range = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, index) => from + index);
const join = (first: Int32Array, second: Int32Array) => {
  const joined = new Int32Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
};
const state = (tokens: Int32Array, usedAt: number, uses = 0): KeptState => ({
  tokens,
  bytes: tokens.length,
  usedAt,
  uses,
});
const dropped = (
  states: readonly KeptState[],
  bytes: number,
  { inSlots = [] as readonly Int32Array[], count = 99, now = 1000 } = {},
) => statesToDrop(states, inSlots, { bytes, count }, now);

describe('statesToDrop', () => {
  const chat = state(range(0, 3000), 0);
  const side = state(range(5000, 5300), 900);

  test('none within the limits', () => expect(dropped([chat, side], 3300)).toEqual([]));

  test('a short request before a long chat, although it is newer', () => {
    expect(dropped([chat, side], 3200)).toEqual([side]);
    expect(dropped([side, chat], 9999, { count: 1 })).toEqual([side]);
  });

  test('a long chat of yesterday before what is in use', () => {
    expect(dropped([chat, side], 3200, { now: 24 * 3600 * 1000 + 900 })).toEqual([side]);
    const recent = state(range(5000, 5300), 24 * 3600 * 1000);
    expect(dropped([chat, recent], 3200, { now: 24 * 3600 * 1000 })).toEqual([chat]);
  });

  test('what was never used again before what was', () => {
    const used = state(range(7000, 7300), 0, 2);
    expect(dropped([used, side], 500)).toEqual([side]);
  });

  test('an earlier version of a chat before another chat', () => {
    const earlier = state(join(range(0, 2900), range(8000, 8100)), 0);
    const other = state(range(5000, 6000), 0);
    expect(dropped([chat, other, earlier], 5000)).toEqual([chat]);
    expect(dropped([chat, other, state(earlier.tokens, -9e5)], 5000)).toMatchObject([{ tokens: earlier.tokens }]);
  });

  test('first what a slot has anyway', () => {
    expect(dropped([chat, side], 3200, { inSlots: [range(0, 3100)] })).toEqual([chat]);
  });

  test('a state above the limit alone', () => expect(dropped([chat, side], 2000)).toEqual([chat]));

  test('no more than needed: a small one stays if a large one has to go anyway', () => {
    const other = state(range(10_000, 13_500), 0);
    expect(dropped([side, chat, other], 4000)).toEqual([chat]);
  });
});

/**
 * A main chat with a long system prompt, side requests between its turns, and two sub-agents with the same system prompt. Everything
 * goes through one slot; states are kept by the given policy. Returns the largest part of a turn of the main chat that was computed
 * although it was not new.
 */
function agentTraffic(limit: number, drop: typeof statesToDrop) {
  let [kept, now, next]: [KeptState[], number, number] = [[], 0, 100_000];
  const fresh = (length: number) => {
    next += length;
    return range(next - length, next);
  };
  let slot: Int32Array = range(0, 0);
  const request = (prompt: Int32Array, replyLength: number): { computed: number; text: Int32Array } => {
    now += 5000;
    const best = kept.toSorted((a, b) => commonPrefix(b.tokens, prompt) - commonPrefix(a.tokens, prompt))[0];
    const own = commonPrefix(slot, prompt);
    if (own < slot.length) {
      kept = [...kept.filter(({ tokens }) => commonPrefix(tokens, slot) < tokens.length), state(slot, now)];
      const gone = drop(kept, [], { bytes: limit, count: 32 }, now);
      kept = kept.filter((one) => !gone.includes(one));
    }
    const found = best && kept.includes(best) ? commonPrefix(best.tokens, prompt) : 0;
    if (best && found > own) kept = kept.map((one) => (one === best ? state(one.tokens, now, one.uses + 1) : one));
    slot = join(prompt, fresh(replyLength));
    return { computed: prompt.length - Math.max(own, found), text: slot };
  };
  const system = fresh(12_000);
  let main = join(system, fresh(500));
  let agents = [join(system, fresh(800)), join(system, fresh(800))];
  let worst = 0;
  for (let turn = 0; turn < 20; turn += 1) {
    const added = turn === 0 ? main.length : 600;
    const { computed, text } = request(main, 300);
    worst = Math.max(worst, (computed - added) / added);
    main = join(text, fresh(600));
    for (let side = 0; side < turn % 9; side += 1) request(join(fresh(40), fresh(200 + 50 * side)), 20);
    if (turn >= 8 && turn < 12) agents = agents.map((agent) => join(request(agent, 200).text, fresh(500)));
  }
  return worst;
}

describe('agent traffic: 20 turns, up to eight side requests between them, two sub-agents', () => {
  const leastRecent: typeof statesToDrop = (states, _, limits) => {
    const newest = states.toSorted((a, b) => b.usedAt - a.usedAt);
    let bytes = 0;
    return newest.filter((one) => {
      bytes += one.bytes;
      return bytes > limits.bytes;
    });
  };

  test('no turn computes more than what is new while the longest chat fits', () => {
    expect(agentTraffic(80_000, statesToDrop)).toBe(0);
    expect(agentTraffic(36_000, statesToDrop)).toBe(0);
  });

  test('dropping the least recently used would lose the long chat', () => {
    expect(agentTraffic(36_000, leastRecent)).toBeGreaterThan(10);
  });
});

describe('CopyCosts', () => {
  test('keeps what takes longer to compute than three copies', () => {
    const costs = new CopyCosts();
    for (let round = 0; round < 50; round += 1) {
      costs.computed(1000, 1000);
      costs.copied(1e9, 100);
    }
    expect(costs.keeps(400, 1e9)).toBe(true);
    expect(costs.keeps(200, 1e9)).toBe(false);
    expect(costs.gain(200, 1e9)).toBeGreaterThan(0);
    expect(costs.gain(50, 1e9)).toBeLessThan(0);
  });

  test('keeps everything before something was computed, and does not learn from single steps', () => {
    const costs = new CopyCosts();
    expect(costs.keeps(33, 1e9)).toBe(true);
    costs.computed(1, 0);
    expect(costs.keeps(33, 1e9)).toBe(true);
  });

  test('a copy that had to wait changes little', () => {
    const costs = new CopyCosts();
    costs.computed(1000, 1000);
    for (let round = 0; round < 50; round += 1) costs.copied(1e8, 10);
    costs.copied(1e6, 100);
    expect(costs.keeps(400, 1e9)).toBe(true);
  });
});

describe('CopyCosts: short states that nobody comes back to', () => {
  const [short, long] = [500, 5000];
  const after = (kept: number) => {
    const costs = new CopyCosts();
    costs.computed(1000, 1000);
    for (let index = 0; index < kept; index += 1) costs.kept(short, 0);
    return costs;
  };

  test('are kept at first, and again after one was restored', () => {
    expect(after(31).isUnlikelyUsed(short, 0)).toBe(false);
    const costs = after(32);
    expect(costs.isUnlikelyUsed(short, 0)).toBe(true);
    costs.restored();
    expect(costs.isUnlikelyUsed(short, 0)).toBe(false);
  });

  test('one more is kept after a pause', () => {
    const costs = after(32);
    expect(costs.isUnlikelyUsed(short, 20_000)).toBe(false);
    costs.kept(short, 20_000);
    expect(costs.isUnlikelyUsed(short, 20_001)).toBe(true);
    expect(costs.isUnlikelyUsed(short, 60_000)).toBe(false);
  });

  test('do not count against long ones', () => {
    expect(after(500).isUnlikelyUsed(long, 0)).toBe(false);
    const costs = after(0);
    for (let index = 0; index < 100; index += 1) costs.kept(long, 0);
    expect(costs.isUnlikelyUsed(short, 0)).toBe(false);
  });
});

describe('stateBound', () => {
  const gigabyte = 2 ** 30;
  const bound = (available: number, weights: number, context: number) =>
    stateBound({
      availableBytes: available * gigabyte,
      weightBytes: weights * gigabyte,
      contextBytes: context * gigabyte,
    }) / gigabyte;

  test.each([
    ['most of what is free beside the model', [14, 5, 2], 5.25],
    ['a gigabyte stays free', [8, 5, 1], 1],
    ['half of what a large context would take', [20, 4, 64], 6],
    ['at most 8 GB', [256, 5, 2], 8],
    ['short chats where nothing is free', [4, 5, 2], 1 / 16],
  ] as const)('%s', (_, [available, weights, context], expected) => {
    expect(bound(available, weights, context)).toBeCloseTo(expected, 5);
  });
});
