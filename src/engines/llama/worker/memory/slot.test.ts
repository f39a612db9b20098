import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chunk } from '../testing/media.ts';
import { fakeMemory, fakeWindow } from '../testing/memory.ts';
import type { Context, StateKind } from './context.ts';
import { Slot } from './slot.ts';
import type { Snapshot } from './snapshot.ts';

const tokens = (...list: number[]) => Int32Array.from(list);

test('Slot: adds a padding token after the computed ones and removes it', () => {
  const { context, batch, decode, cache } = fakeMemory();
  const slot = new Slot(context, 0, 16);
  slot.begin(tokens(1, 2, 3), 0);
  slot.fill(3);
  decode();
  slot.settle();
  slot.addPadding();
  expect(batch()).toEqual([{ token: 0, position: 3, hasLogits: false }]);
  decode();
  slot.dropPadding();
  expect([slot.remaining, cache]).toEqual([0, [1, 2, 3]]);
});

test('Slot: a prompt is split over batches, and only its last token has logits', () => {
  const { context, batch, decode, cache } = fakeMemory();
  const slot = new Slot(context, 0, 16);
  slot.begin(tokens(1, 2, 3, 4, 5), 0);
  slot.fill(3);
  expect([slot.logitsRow, batch().map(({ hasLogits }) => hasLogits)]).toEqual([undefined, [false, false, false]]);
  decode();
  slot.settle();
  slot.fill(3);
  expect([slot.logitsRow, batch().map(({ token, position, hasLogits }) => [token, position, hasLogits])]).toEqual([
    1,
    [
      [4, 3, false],
      [5, 4, true],
    ],
  ]);
  decode();
  slot.settle();
  expect([slot.remaining, cache]).toEqual([0, [1, 2, 3, 4, 5]]);
});

test('rollback: the batch is filled again', () => {
  const { context, decode, lose, cache } = fakeMemory();
  const slot = new Slot(context, 0, 16);
  slot.begin(tokens(1, 2, 3, 4), 0);
  slot.fill(4);
  lose();
  slot.rollback();
  expect([slot.remaining, cache]).toEqual([4, []]);
  slot.fill(4);
  decode();
  slot.settle();
  expect(cache).toEqual([1, 2, 3, 4]);
});

test('rewind: the last token is computed again', () => {
  const { context, decode, cache, batch } = fakeMemory();
  const slot = new Slot(context, 0, 16);
  slot.begin(tokens(1, 2), 0);
  for (const token of [3, 4, 5]) {
    slot.fill(8);
    decode();
    slot.settle();
    slot.append(token);
  }
  slot.rewind(3);
  expect([slot.length, slot.computed, cache]).toEqual([3, 2, [1, 2]]);
  slot.fill(8);
  expect(batch()).toEqual([{ token: 3, position: 2, hasLogits: true }]);
});

test('Slot: a sampled token that was not computed is not reused', () => {
  const { context, decode } = fakeMemory();
  const slot = new Slot(context, 0, 16);
  slot.begin(tokens(1, 2), 0);
  slot.fill(8);
  decode();
  slot.settle();
  slot.append(9);
  slot.finish();
  expect([...slot.cached]).toEqual([1, 2]);
});

test('Slot: starts from nothing if the memory cannot be rewound', () => {
  const { context, decode, cache } = fakeMemory({ kind: 'state' });
  const slot = new Slot(context, 0, 16);
  slot.begin(tokens(1, 2, 3), 0);
  slot.fill(8);
  decode();
  slot.settle();
  slot.begin(tokens(1, 2, 4), 2);
  expect([slot.computed, slot.remaining, cache]).toEqual([0, 3, []]);
});

test('shift: removes tokens from the middle, or returns false if it cannot', () => {
  const { context, decode, cache } = fakeMemory();
  const slot = new Slot(context, 0, 16);
  slot.begin(tokens(1, 2, 3, 4, 5, 6), 0);
  slot.fill(8);
  decode();
  slot.settle();
  expect(slot.shift(1, 3)).toBe(true);
  expect([[...slot.cached], cache]).toEqual([
    [1, 5, 6],
    [1, 5, 6],
  ]);
  expect(new Slot(fakeMemory({ canShift: false }).context, 0, 4).shift(0, 1)).toBe(false);
});

describe('Slot: picture', () => {
  /** Three places that take one position, at index 2. */
  const rows = { start: 2, chunk: chunk(-10, 3, 1) };
  const prompt = tokens(1, 2, -10, -11, -12, 3, 4);

  function mediaWorld() {
    const positions: string[] = [];
    let inBatch = 0;
    const context = {
      memory: 'plain',
      reaches: () => true,
      add: (token: number, position: number) => {
        positions.push(`${token} at ${position}`);
        inBatch += 1;
        return inBatch - 1;
      },
      forget: (_sequence: number, from: number) => {
        positions.push(`forget from ${from}`);
        return true;
      },
      decodeMedium: async ({ ids }: { ids: Int32Array }, position: number) => {
        positions.push(`picture ${ids[0]} at ${position}`);
        return 'ok';
      },
      copy: () => {},
      shift: () => true,
    } as unknown as Context;
    const seen = () => positions.splice(0);
    return { slot: new Slot(context, 0, 32), context, seen };
  }

  /** Computes everything that is left. */
  async function computeAll(slot: Slot): Promise<void> {
    while (slot.remaining > 0) {
      const medium = slot.nextMedium;
      if (medium) await slot.computeMedium(medium);
      else slot.fill(100);
      slot.settle();
    }
  }

  test('is computed separately, and advances the position by its own count', async () => {
    const { slot, seen } = mediaWorld();
    slot.begin(prompt, 0, [rows]);
    await computeAll(slot);
    expect(seen()).toEqual(['forget from 0', '1 at 0', '2 at 1', 'picture -10 at 2', '3 at 3', '4 at 4']);
    expect(slot.logitsRow).toBe(3);
    slot.append(5);
    slot.fill(1);
    expect(seen()).toEqual(['5 at 5']);
  });

  test('is reused by the next prompt; what follows is removed by position', async () => {
    const { slot, seen } = mediaWorld();
    slot.begin(prompt, 0, [rows]);
    await computeAll(slot);
    seen();
    slot.begin(tokens(...prompt.subarray(0, 6), 9), 6, [rows]);
    await computeAll(slot);
    expect(seen()).toEqual(['forget from 4', '9 at 4']);
  });

  test('is computed again if it was not computed', async () => {
    const { slot, seen } = mediaWorld();
    slot.begin(prompt, 0, [rows]);
    slot.fill(2);
    slot.settle();
    await slot.computeMedium(rows);
    seen();
    slot.rollback();
    expect([slot.computed, seen(), slot.nextMedium]).toEqual([2, ['forget from 2'], rows]);
  });

  test('is copied with a prefix', async () => {
    const { slot, context, seen } = mediaWorld();
    slot.begin(prompt, 0, [rows]);
    await computeAll(slot);
    const other = new Slot(context, 1, 32);
    seen();
    other.copyFrom(slot, 6);
    expect(seen()).toEqual(['forget from 0', 'forget from 4']);
    expect([...other.cached]).toEqual([...prompt.subarray(0, 6)]);
  });

  test('moves with a shift, unless positions differ from indices', async () => {
    const { slot } = mediaWorld();
    slot.begin(prompt, 0, [rows]);
    await computeAll(slot);
    expect(slot.shift(0, 1)).toBe(false);
    const plain = { start: 2, chunk: chunk(-10, 3) };
    slot.begin(prompt, 0, [plain]);
    await computeAll(slot);
    expect(slot.shift(0, 1)).toBe(true);
    expect([...slot.cached]).toEqual([2, -10, -11, -12, 3, 4]);
    slot.forgetFrom(1);
    expect(slot.nextMedium).toEqual({ ...plain, start: 1 });
  });
});

describe('Slot: memory that cannot be rewound', () => {
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
  const prompt = Int32Array.from(range(0, 200));

  function read(kind: 'state' | 'window', turns: readonly number[] = [], limits = { count: 8, bytes: 2 ** 30 }) {
    const world = fakeMemory({ kind });
    const slot = new Slot(world.context, 0, 1024, limits);
    const computeAll = () => {
      const stops: number[] = [];
      while (slot.remaining > 0) {
        slot.fill(1000);
        world.decode();
        slot.settle();
        stops.push(slot.computed);
      }
      return stops;
    };
    slot.begin(prompt, 0);
    slot.planCheckpoints((index) => turns.includes(index));
    return { world, slot, computeAll };
  }

  test('gets checkpoints during prefill', () => {
    const { slot, computeAll } = read('state', [90]);
    expect(computeAll()).toEqual([90, 199, 200]);
    expect(slot.checkpoints).toEqual({ count: 2, bytes: 91 + 200 });
  });

  test.each([
    ['the same prompt again', 199, 199],
    ['another last turn', 180, 135],
    ['a change before all that was kept', 50, 0],
  ])('rewinds to the last checkpoint before %s', (_, index, kept) => {
    const { world, slot, computeAll } = read('state');
    computeAll();
    expect(slot.reach(index)).toBe(kept);
    slot.begin(prompt, index);
    expect([slot.computed, world.seen().length, world.cache.length]).toEqual([kept, kept, kept]);
    expect(slot.checkpoints.count).toBe([0, 135, 199].indexOf(kept));
  });

  test('window: rewinds a few tokens without a checkpoint', () => {
    const { world, slot, computeAll } = read('window');
    computeAll();
    slot.begin(prompt, 197);
    expect([slot.computed, world.seen()]).toEqual([197, range(194, 197)]);
    slot.begin(prompt, 180);
    expect([slot.computed, world.seen()]).toEqual([135, range(132, 135)]);
  });

  test('checkpoints of a growing reply, never with drafted tokens', () => {
    const { slot, world, computeAll } = read('state');
    computeAll();
    for (let token = 0; token < 300; token += 1) {
      slot.append(token);
      computeAll();
    }
    expect(slot.reach(490)).toBe(455);
    slot.append(1);
    slot.addDraft(Int32Array.from(range(0, 250)));
    slot.fill(1000);
    world.decode();
    slot.settle();
    expect(slot.checkpoints.count).toBe(3);
  });

  test.each(['state', 'window'] as const)(
    '%s: however long a reply with its thinking gets, a next prompt without the thinking computes nothing before it',
    (kind) => {
      const { slot, computeAll } = read(kind, [90], { count: 3, bytes: 2 ** 30 });
      computeAll();
      for (let token = 0; token < 800; token += 1) {
        slot.append(token);
        computeAll();
      }
      expect(slot.checkpoints.count).toBe(3);
      expect(slot.reach(prompt.length)).toBe(prompt.length - 1);
      slot.begin(Int32Array.from([...prompt, 799, 7, 8, 9]), prompt.length);
      expect(slot.computed).toBe(prompt.length - 1);
    },
  );

  test('a rewind computes the tokens after the checkpoint again', () => {
    const { slot, world, computeAll } = read('state');
    computeAll();
    for (const token of [7, 8, 9]) {
      slot.append(token);
      computeAll();
    }
    slot.rewind(202);
    expect([slot.length, slot.computed]).toEqual([202, 199]);
    computeAll();
    expect(world.seen()).toEqual([...prompt, 7, 8]);
  });

  test('copies and snapshots include checkpoints', () => {
    const { slot, computeAll, world } = read('state');
    computeAll();
    const state = { cache: [...world.cache], part: world.context.state(0, 'part') };
    const context = {
      ...world.context,
      state: (sequence: number, kind: StateKind) =>
        kind === 'part' ? world.context.state(sequence, kind) : new Uint8Array(1),
      restore: (sequence: number, bytes: Uint8Array, kind: StateKind) => {
        if (kind === 'part') return world.context.restore(sequence, bytes, kind);
        world.cache.push(...state.cache);
        return world.context.restore(1, state.part, 'part');
      },
    } as unknown as Context;
    const source = Object.assign(slot, { context });
    const other = new Slot(context, 1, 1024);
    other.copyFrom(source, 150);
    expect([other.computed, other.checkpoints.count, world.seen().length]).toEqual([135, 1, 135]);
    const third = new Slot(context, 2, 1024);
    third.restore({ ...(source.snapshot() as Snapshot) });
    third.begin(prompt, 199);
    expect([third.computed, third.checkpoints.count]).toEqual([199, 2]);
  });
});

test.each(['plain', 'window', 'state'] as const)(
  'Slot: any operations leave a %s memory consistent with the tokens',
  (kind) => {
    const action = fc.oneof(
      fc.record({ type: fc.constant('begin' as const), tokens: fc.array(fc.nat(1), { minLength: 1, maxLength: 50 }) }),
      fc.record({ type: fc.constantFrom('decode' as const, 'lose' as const), room: fc.integer({ min: 1, max: 30 }) }),
      fc.record({ type: fc.constant('rewind' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.record({ type: fc.constant('append' as const), token: fc.nat(3) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
        const world = fakeMemory({ kind });
        const slot = new Slot(world.context, 0, 128);
        for (const one of actions) {
          if (one.type === 'begin') {
            const prompt = Int32Array.from(one.tokens);
            let common = 0;
            while (common < Math.min(slot.computed, prompt.length - 1) && slot.tokens[common] === prompt[common])
              common += 1;
            slot.begin(prompt, common);
            slot.planCheckpoints((index) => index % 5 === 0);
          } else if (one.type === 'append') {
            if (slot.length > 0 && slot.length < 120) slot.append(one.token);
          } else if (one.type === 'rewind') {
            if (slot.length > 0 && slot.remaining <= 1) slot.rewind(Math.max(1, Math.ceil(one.share * slot.length)));
          } else {
            slot.fill(one.room);
            world[one.type]();
            if (one.type === 'decode') slot.settle();
            else slot.rollback();
          }
          expect(world.cache).toEqual([...slot.cached]);
          const from = kind === 'window' ? Math.max(0, slot.computed - fakeWindow + 1) : 0;
          if (kind !== 'plain') expect(world.seen()).toEqual([...slot.cached.subarray(from)]);
        }
      }),
    );
  },
);

describe('Slot: state larger than any buffer', () => {
  const tooLarge = () => {
    throw new RangeError('Invalid typed array length: 5368709120');
  };

  test('is not stored, without another error', () => {
    const { context, decode } = fakeMemory();
    const slot = new Slot(Object.assign(context, { state: tooLarge }), 0, 16);
    slot.begin(tokens(1, 2, 3), 0);
    slot.fill(3);
    decode();
    slot.settle();
    expect(slot.snapshot()).toBeUndefined();
    expect(slot.computed).toBe(3);
  });

  test('is computed by the slot that needed a copy', () => {
    const { context, decode } = fakeMemory({ kind: 'window' });
    const other = new Slot(Object.assign(context, { state: tooLarge }), 0, 16);
    other.begin(tokens(1, 2, 3), 0);
    other.fill(3);
    decode();
    other.settle();
    const slot = new Slot(fakeMemory({ kind: 'window' }).context, 1, 16);
    slot.copyFrom(other, 2);
    expect([slot.computed, slot.length]).toEqual([0, 0]);
  });

  test('does not hide another error', () => {
    const broken = () => {
      throw new Error('the library is gone');
    };
    const { context, decode } = fakeMemory();
    const slot = new Slot(Object.assign(context, { state: broken }), 0, 16);
    slot.begin(tokens(1, 2), 0);
    slot.fill(2);
    decode();
    slot.settle();
    expect(() => slot.snapshot()).toThrow('the library is gone');
  });
});
