import type { Slot } from './memory/slot.ts';
import { padding } from './scheduling.ts';

type SlotView = Pick<Slot, 'sequence' | 'computed' | 'capacity'>;

/**
 * The idle slots between active ones that get a padding token: the library computes only consecutive sequences in one pass over the
 * weights. No slot is longer than the longest active one, because attention over a long sequence costs more than a saved pass.
 */
export function paddingSlots<One extends SlotView>(active: readonly One[], all: readonly One[], onGpu = false): One[] {
  const maxGap = onGpu ? padding.maxGap.gpu : padding.maxGap.cpu;
  const padded: One[] = [];
  let gap: One[] = [];
  let begun = false;
  for (const slot of [...all].sort((a, b) => a.sequence - b.sequence)) {
    if (!active.includes(slot)) {
      gap.push(slot);
      continue;
    }
    if (begun && gap.length <= maxGap && gap.every((one) => isCheap(one, active))) padded.push(...gap);
    begun = true;
    gap = [];
  }
  return padded;
}

function isCheap({ computed, capacity }: SlotView, active: readonly SlotView[]): boolean {
  return computed < capacity && computed <= Math.max(...active.map((one) => one.computed));
}
