import { pool } from '../scheduling.ts';
import type { CellPool } from './cell-pool.ts';
import type { Slot } from './slot.ts';

interface HeldDeps {
  /** Of all sequences; a slot that leaves is replaced there. */
  readonly slots: Slot[];
  readonly pool: Pick<CellPool, 'fits'> | undefined;
  readonly newSlot: (sequence: number) => Slot;
  /** Saves a slot before it is overwritten. */
  readonly save: (slot: Slot) => void;
  readonly availableBytes: () => number;
}

/** Slots of generations that are held: another slot has their sequence meanwhile. */
export class HeldSlots {
  constructor(private readonly deps: HeldDeps) {}

  leave(slot: Slot): void {
    const { slots, newSlot, availableBytes } = this.deps;
    slot.leave(pool.maxHeldShare * availableBytes());
    slots[slots.indexOf(slot)] = newSlot(slot.sequence);
  }

  /** False while no sequence is free. Its own is preferred, then the one that was used least recently. */
  arrive(slot: Slot): boolean {
    const { slots, save } = this.deps;
    const free = slots.filter(({ busy }) => !busy).sort((one, other) => one.usedAt - other.usedAt);
    const replaced = free.find(({ sequence }) => sequence === slot.sequence) ?? free[0];
    if (!replaced || this.deps.pool?.fits(slot) === false) return false;
    save(replaced);
    replaced.clear();
    slots[slots.indexOf(replaced)] = slot;
    slot.arrive(replaced.sequence);
    return true;
  }
}
