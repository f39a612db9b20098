/** A sequence as it stands between two batches. */
export interface Neighbour {
  readonly sequence: number;
  /** Tokens that the cache holds of it. */
  readonly computed: number;
  readonly capacity: number;
}

/** A pass over the weights costs about as much as this many more rows in it, on small models; more on large ones. */
const longestGap = 3;

/**
 * The library computes sequences in one pass only where their numbers follow each other without a gap. Where few are
 * missing it is quicker to let those take a token along, which is forgotten afterwards, than to go over all the weights
 * twice. None that is longer than all who write: attention over a long text would cost more than it saves.
 */
export function bridges<Slot extends Neighbour>(writing: readonly Slot[], all: readonly Slot[]): Slot[] {
  const longest = Math.max(...writing.map(({ computed }) => computed));
  const found: Slot[] = [];
  let gap: Slot[] = [];
  let begun = false;
  for (const slot of [...all].sort((a, b) => a.sequence - b.sequence)) {
    if (!writing.includes(slot)) {
      gap.push(slot);
      continue;
    }
    const worth = begun && gap.length <= longestGap;
    if (worth && gap.every(({ computed, capacity }) => computed <= longest && computed < capacity)) found.push(...gap);
    begun = true;
    gap = [];
  }
  return found;
}
