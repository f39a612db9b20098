import { type Characters, overlaps } from '../../patterns/characters.ts';

export const operation = { set: 0, token: 1, otherToken: 2, fork: 3, call: 4, end: 5 } as const;

/**
 * A grammar as numbered steps. Each rule is a small automaton of its own: choices and repetitions are forks, and only
 * references to rules are calls that come back.
 */
export interface Program {
  readonly operations: Uint8Array;
  /** Which set, token or rule; for a fork, which of `forks`. */
  readonly operands: Int32Array;
  readonly nexts: Int32Array;
  readonly forks: readonly (readonly number[])[];
  /** The first step of each rule. */
  readonly starts: Int32Array;
  readonly root: number;
  readonly characters: CharacterClasses;
}

/**
 * Characters that no set of the grammar tells apart are one class, so that what was found out about one of them holds
 * for all. Classes are counted in the order of their characters.
 */
export class CharacterClasses {
  /** The first character of each class. */
  readonly #firsts: readonly number[];
  readonly #low: Int32Array;
  /** Each set as ranges of classes. */
  readonly sets: readonly Characters[];

  constructor(private readonly ranges: readonly Characters[]) {
    const firsts = new Set([0]);
    for (const [from, to] of ranges.flat()) firsts.add(from).add(to + 1);
    this.#firsts = [...firsts].sort((a, b) => a - b);
    this.#low = Int32Array.from({ length: 128 }, (_, code) => this.#find(code));
    this.sets = ranges.map((set) => set.map(([from, to]) => [this.#find(from), this.#find(to)] as const));
  }

  classOf(code: number): number {
    return code < 128 ? (this.#low[code] as number) : this.#find(code);
  }

  /** Whether a set has any character of these. */
  overlap(set: number, lowest: number, highest: number): boolean {
    return overlaps(this.ranges[set] as Characters, lowest, highest);
  }

  #find(code: number): number {
    let low = 0;
    let high = this.#firsts.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((this.#firsts[middle] as number) <= code) low = middle;
      else high = middle;
    }
    return low;
  }
}
