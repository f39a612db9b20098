import type { Slot } from './memory/slot.ts';

/** A pass over the weights costs about as much as this many more rows: of a small model on the processor, or on a card. */
const longestGap = { processor: 3, card: 12 };

/** Many processors have kernels for so many rows of a batch; the library computes the rows that are left one by one. */
export const blockOfRows = 4;

type Place = Pick<Slot, 'sequence' | 'computed' | 'capacity'>;

/** Chooses idle slots that compute a filler token, where a step with more rows takes less time. */
export class Fillers<One extends Place> {
  readonly #comparisons = new Map<number, Comparison>();
  /** The step that is being computed. */
  #step: { readonly comparison: Comparison; readonly isPadded: boolean; readonly rows: number } | undefined;

  constructor(
    /** None if the memory cannot remove a filler token. */
    private readonly slots: readonly One[],
    private readonly onCard: boolean,
  ) {}

  /** For a step in which these slots write a token each. */
  next(writing: readonly One[]): readonly One[] {
    const between = bridges(writing, this.slots, this.onCard ? longestGap.card : longestGap.processor);
    this.#step = undefined;
    const rows = writing.length + between.length;
    if (this.onCard || rows % blockOfRows !== blockOfRows - 1) return between;
    const beside = neighbour([...writing, ...between], this.slots);
    if (!beside) return between;
    const comparison = this.#comparisons.get(rows) ?? new Comparison();
    this.#comparisons.set(rows, comparison);
    const isPadded = comparison.next();
    this.#step = { comparison, isPadded, rows: isPadded ? rows + 1 : rows };
    return isPadded ? [...between, beside] : between;
  }

  /** The step of `next` took this long; with drafts it had more rows, and says nothing. */
  took(milliseconds: number, rows: number): void {
    if (this.#step?.rows === rows) this.#step.comparison.took(this.#step.isPadded, milliseconds);
    this.#step = undefined;
  }
}

/** Steps of one comparison: with and without a filler in turn. It is repeated after so many steps, as texts grow and threads change. */
const comparedSteps = 16;
const repeatedAfter = 4096;
/** The share of the time below which a filler is worth it. */
const faster = 0.97;

/** Finds out whether steps of one width are faster with a row more. */
class Comparison {
  #steps = 0;
  #isFaster = false;
  readonly #plain: number[] = [];
  readonly #padded: number[] = [];

  /** Whether the next step has the additional row. */
  next(): boolean {
    const place = this.#steps % repeatedAfter;
    this.#steps += 1;
    return place < comparedSteps ? place % 2 === 1 : this.#isFaster;
  }

  took(isPadded: boolean, milliseconds: number): void {
    if ((this.#steps - 1) % repeatedAfter >= comparedSteps) return;
    (isPadded ? this.#padded : this.#plain).push(milliseconds);
    if (this.#steps % repeatedAfter !== comparedSteps) return;
    this.#isFaster = median(this.#padded) < median(this.#plain) * faster;
    this.#plain.length = 0;
    this.#padded.length = 0;
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.POSITIVE_INFINITY;
}

/**
 * The idle slots between those that write: the library computes only consecutive sequences in one pass over the weights.
 * None is much longer than all that write, because attention over a long text would cost more than it saves.
 */
export function bridges<One extends Place>(
  writing: readonly One[],
  all: readonly One[],
  longest = longestGap.processor,
): One[] {
  const found: One[] = [];
  let gap: One[] = [];
  let begun = false;
  for (const slot of [...all].sort((a, b) => a.sequence - b.sequence)) {
    if (!writing.includes(slot)) {
      gap.push(slot);
      continue;
    }
    if (begun && gap.length <= longest && gap.every((one) => costsLittle(one, writing))) found.push(...gap);
    begun = true;
    gap = [];
  }
  return found;
}

/** An idle slot beside those of one pass; none if they need several. */
function neighbour<One extends Place>(together: readonly One[], all: readonly One[]): One | undefined {
  const sequences = together.map(({ sequence }) => sequence);
  const [first, last] = [Math.min(...sequences), Math.max(...sequences)];
  if (last - first !== together.length - 1) return undefined;
  return all.find((one) => (one.sequence === first - 1 || one.sequence === last + 1) && costsLittle(one, together));
}

/** Attention reads as many cells for each row as the longest text of the batch has, in steps of so many. */
const cellsAtOnce = 256;

function costsLittle({ computed, capacity }: Place, writing: readonly Place[]): boolean {
  const longest = Math.max(...writing.map((one) => one.computed));
  return computed < capacity && Math.floor(computed / cellsAtOnce) <= Math.floor(longest / cellsAtOnce);
}
