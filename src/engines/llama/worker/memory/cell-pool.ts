import { pool } from '../scheduling.ts';
import type { Slot } from './slot.ts';

/** A sequence of the pool; `cells` are those that it has or will take for its prompt. */
export interface PoolSequence {
  readonly cells: number;
  readonly busy: boolean;
  readonly usedAt: number;
}

/** What a prompt needs: cells, the sequence that it replaces, and the one that it copies its beginning from. */
export interface CellNeed<Sequence> {
  readonly cells: number;
  readonly replaces?: Sequence | undefined;
  readonly copies?: Sequence | undefined;
}

/** `reserved`: cells of prompts that were admitted and have not begun. */
type PoolState = Readonly<Record<'capacity' | 'reserved', number>>;

/** The idle sequences to evict for a prompt, least recently used first; undefined if running ones leave too little. */
export function evictionsFor<Sequence extends PoolSequence>(
  sequences: readonly Sequence[],
  { cells, replaces, copies }: CellNeed<Sequence>,
  { capacity, reserved }: PoolState,
): readonly Sequence[] | undefined {
  const others = sequences.filter((one) => one !== replaces);
  let missing = Math.min(cells, capacity) + reserved - capacity + others.reduce((sum, one) => sum + one.cells, 0);
  const evicted: Sequence[] = [];
  for (const one of idleByAge(others)) {
    if (missing <= 0) break;
    if (one === copies) continue;
    evicted.push(one);
    missing -= one.cells;
  }
  return missing <= 0 ? evicted : undefined;
}

function idleByAge<Sequence extends PoolSequence>(sequences: readonly Sequence[]): Sequence[] {
  return sequences.filter(({ busy, cells }) => !busy && cells > 0).sort((a, b) => a.usedAt - b.usedAt);
}

interface Waiting {
  /** Undefined once the prompt was abandoned. */
  readonly need: () => CellNeed<Slot> | undefined;
  readonly admitted: (leave: () => void) => void;
}

interface CellPoolDeps {
  readonly slots: readonly Slot[];
  readonly capacity: number;
  /** Saves a sequence before it is evicted. */
  readonly save: (slot: Slot) => void;
  /** Lets the loop call `admit` soon. */
  readonly wake: () => void;
}

/** The cells that all sequences share. Only `enter` may be called while a batch is computed. */
export class CellPool {
  readonly #waiting: Waiting[] = [];
  #reserved = 0;

  constructor(private readonly deps: CellPoolDeps) {}

  get figures() {
    const { slots, capacity } = this.deps;
    return { cells: slots.reduce((sum, { cells }) => sum + cells, 0), capacity, waiting: this.#waiting.length };
  }

  /** Waits until there is room for a prompt, in the order of the calls. Its cells are reserved until the returned function is called. */
  enter(need: Waiting['need']): Promise<() => void> {
    return new Promise((admitted) => {
      this.#waiting.push({ need, admitted });
      this.deps.wake();
    });
  }

  /** Admits the prompts for which there is room. */
  admit(): void {
    for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
      const needed = first.need();
      const need = needed && withHeadroom(needed);
      if (need && !this.#makeRoom(need)) return;
      this.#waiting.shift();
      const cells = need?.cells ?? 0;
      this.#reserved += cells;
      first.admitted(once(() => this.#leave(cells)));
    }
  }

  #leave(cells: number): void {
    this.#reserved -= cells;
    this.deps.wake();
  }

  /** Whether a parked sequence fits again; idle ones are evicted for it. */
  fits({ length }: Slot): boolean {
    return this.#makeRoom(withHeadroom({ cells: length }));
  }

  /** Makes room for a state that is restored into a slot, as far as that is possible. */
  makeRoomFor(slot: Slot, cells: number): void {
    this.#makeRoom({ cells, replaces: slot });
  }

  #makeRoom(need: CellNeed<Slot>): boolean {
    const { slots, capacity } = this.deps;
    const evicted = evictionsFor(slots, need, { capacity, reserved: this.#reserved });
    for (const slot of evicted ?? []) this.#evict(slot);
    return evicted !== undefined;
  }

  /**
   * After a batch has found no cells: evicts the idle sequence that was used least recently, or else returns the newest generation, to be
   * parked. Undefined if a single generation has all cells: the oldest is never parked, so that one always continues.
   */
  relieve<Generation>(oldestFirst: readonly Generation[]): { readonly park?: Generation | undefined } | undefined {
    const [idle] = idleByAge(this.deps.slots);
    if (idle) {
      this.#evict(idle);
      return {};
    }
    return oldestFirst.length > 1 ? { park: oldestFirst.at(-1) } : undefined;
  }

  #evict(slot: Slot): void {
    this.deps.save(slot);
    slot.clear();
  }
}

const withHeadroom = <Sequence>(need: CellNeed<Sequence>): CellNeed<Sequence> => ({
  ...need,
  cells: need.cells + pool.headroom,
});

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}
