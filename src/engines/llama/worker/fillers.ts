import type { Slot } from './memory/slot.ts';

/** A pass over the weights costs about as much as this many more rows: of a small model on the processor, or on a card. */
export const longestGap = { processor: 3, card: 12 };

/** Many processors have kernels for so many rows of a batch; the library computes the rows that are left one by one. */
export const blockOfRows = 4;

type Place = Pick<Slot, 'sequence' | 'computed' | 'capacity'>;

/**
 * The idle slots between those that write: the library computes only consecutive sequences in one pass over the weights.
 * None is longer than all that write, because attention over a long text would cost more than it saves.
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

function costsLittle({ computed, capacity }: Place, writing: readonly Place[]): boolean {
  return computed < capacity && computed <= Math.max(...writing.map((one) => one.computed));
}
