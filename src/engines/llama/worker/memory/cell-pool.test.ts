import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CellPool, evictionsFor, type PoolSequence } from './cell-pool.ts';
import type { Slot } from './slot.ts';

const idle = (cells: number, usedAt: number): PoolSequence => ({ cells, busy: false, usedAt });
const busy = (cells: number): PoolSequence => ({ cells, busy: true, usedAt: 0 });
const state = { capacity: 1000, reserved: 0 };

describe('evictionsFor', () => {
  test('evicts nothing while there is room', () => {
    expect(evictionsFor([idle(400, 1), busy(300)], { cells: 300 }, state)).toEqual([]);
  });

  test('evicts the least recently used sequences, no more than needed', () => {
    const [old, older, recent] = [idle(200, 2), idle(200, 1), idle(400, 3)];
    expect(evictionsFor([old, older, recent], { cells: 300 }, state)).toEqual([older]);
    expect(evictionsFor([old, older, recent], { cells: 600 }, state)).toEqual([older, old]);
  });

  test('does not count the sequence that the prompt replaces', () => {
    const own = idle(800, 5);
    expect(evictionsFor([own, idle(100, 1)], { cells: 900, replaces: own }, state)).toEqual([]);
  });

  test('keeps the sequence whose beginning is copied', () => {
    const [source, other] = [idle(500, 1), idle(400, 2)];
    expect(evictionsFor([source, other], { cells: 300, copies: source }, state)).toEqual([other]);
  });

  test('waits while running sequences and reservations hold too many cells', () => {
    expect(evictionsFor([busy(800), idle(100, 1)], { cells: 300 }, state)).toBeUndefined();
    expect(evictionsFor([busy(400)], { cells: 300 }, { ...state, reserved: 400 })).toBeUndefined();
  });

  test('a prompt of any length fits into a pool without running sequences', () => {
    const sequences = fc.array(fc.record({ cells: fc.nat(1000), busy: fc.constant(false), usedAt: fc.nat() }));
    fc.assert(fc.property(sequences, fc.nat(2000), (all, cells) => evictionsFor(all, { cells }, state) !== undefined));
  });

  test('never evicts a running sequence, and what is left has room', () => {
    const sequences = fc.array(fc.record({ cells: fc.nat(400), busy: fc.boolean(), usedAt: fc.nat() }));
    fc.assert(
      fc.property(sequences, fc.nat(1000), (all, cells) => {
        const evicted = evictionsFor(all, { cells }, state);
        if (!evicted) return;
        expect(evicted.some((one) => one.busy)).toBe(false);
        const left = all.filter((one) => !evicted.includes(one)).reduce((sum, one) => sum + one.cells, 0);
        expect(left + cells).toBeLessThanOrEqual(1000);
      }),
    );
  });
});

/** Slots whose cells are plain numbers, and the pool of them. */
function poolOf(cells: readonly number[], capacity = 1000) {
  const slots = cells.map((count, index) => {
    const clear = () => Object.assign(slot, { cells: 0 });
    const slot = { cells: count, busy: false, usedAt: index + 1, length: count, clear };
    return slot;
  });
  const saved: number[] = [];
  const save = (slot: Slot) => void saved.push(slots.indexOf(slot as unknown as (typeof slots)[number]));
  let woken = 0;
  const wake = () => {
    woken += 1;
  };
  const pool = new CellPool({ slots: slots as unknown as Slot[], capacity, save, wake });
  return { slots, saved, pool, woken: () => woken };
}

describe('CellPool', () => {
  test('saves what it evicts for a prompt', async () => {
    const { pool, slots, saved } = poolOf([400, 500]);
    const entered = pool.enter(() => ({ cells: 100 }));
    pool.admit();
    await entered;
    expect(saved).toEqual([0]);
    expect(slots.map((slot) => slot.cells)).toEqual([0, 500]);
  });

  test('admits prompts in their order, a long one before the short ones after it', async () => {
    const { pool, slots } = poolOf([900]);
    Object.assign(slots[0] ?? {}, { busy: true });
    const admitted: string[] = [];
    const entered = (name: string) => (leave: () => void) => {
      admitted.push(name);
      leave();
    };
    void pool.enter(() => ({ cells: 600 })).then(entered('long'));
    void pool.enter(() => ({ cells: 10 })).then(entered('short'));
    pool.admit();
    await Promise.resolve();
    expect([admitted, pool.figures.waiting]).toEqual([[], 2]);
    Object.assign(slots[0] ?? {}, { busy: false });
    pool.admit();
    await new Promise(setImmediate);
    pool.admit();
    await new Promise(setImmediate);
    expect(admitted).toEqual(['long', 'short']);
  });

  test('reserves the cells of an admitted prompt until it begins, and wakes the loop then', async () => {
    const { pool, woken } = poolOf([]);
    const first = pool.enter(() => ({ cells: 500 }));
    pool.admit();
    const leave = await first;
    void pool.enter(() => ({ cells: 500 }));
    pool.admit();
    expect(pool.figures.waiting).toBe(1);
    const before = woken();
    leave();
    leave();
    expect(woken()).toBe(before + 1);
    pool.admit();
    expect(pool.figures.waiting).toBe(0);
  });

  describe('relieve', () => {
    const occupy = (slots: readonly object[]) => {
      for (const slot of slots) Object.assign(slot, { busy: true });
    };

    test('evicts the idle sequence that was used least recently', () => {
      const { pool, slots, saved } = poolOf([900, 10, 10]);
      occupy(slots.slice(0, 1));
      expect(pool.relieve(['a', 'b'])).toEqual({});
      expect([saved, slots.map(({ cells }) => cells)]).toEqual([[1], [900, 0, 10]]);
    });

    test('parks the newest generation if no sequence is idle', () => {
      const { pool, slots, saved } = poolOf([500, 500, 0]);
      occupy(slots.slice(0, 2));
      expect(pool.relieve(['old', 'new'])).toEqual({ park: 'new' });
      expect(saved).toEqual([]);
    });

    test('never parks the only generation', () => {
      const { pool, slots } = poolOf([1000]);
      occupy(slots);
      expect(pool.relieve(['only'])).toBeUndefined();
    });
  });
});
