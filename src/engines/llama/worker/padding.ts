import type { Slot } from './memory/slot.ts';

/** The largest gap to pad: a pass over the weights of a small model costs about as much as this many more rows. */
export const maxGap = { cpu: 3, gpu: 12 };

/** CPU matrix kernels compute this many rows of a batch at once; the remaining rows are computed one by one. */
export const rowsPerKernel = 4;

type SlotView = Pick<Slot, 'sequence' | 'computed' | 'capacity'>;

/**
 * The idle slots between active ones that get a padding token: the library computes only consecutive sequences in one pass over the
 * weights. No slot is longer than the longest active one, because attention over a long sequence costs more than a saved pass.
 */
export function paddingSlots<One extends SlotView>(
  active: readonly One[],
  all: readonly One[],
  maxLength = maxGap.cpu,
): One[] {
  const padding: One[] = [];
  let gap: One[] = [];
  let begun = false;
  for (const slot of [...all].sort((a, b) => a.sequence - b.sequence)) {
    if (!active.includes(slot)) {
      gap.push(slot);
      continue;
    }
    if (begun && gap.length <= maxLength && gap.every((one) => isCheap(one, active))) padding.push(...gap);
    begun = true;
    gap = [];
  }
  return padding;
}

function isCheap({ computed, capacity }: SlotView, active: readonly SlotView[]): boolean {
  return computed < capacity && computed <= Math.max(...active.map((one) => one.computed));
}
