/** A text that waits to be computed. */
export interface Piece {
  /** Whose it is: those who wait at the same time take turns. */
  readonly owner: number;
  readonly tokens: number;
  /** Only what is pooled in the same way can be computed together. */
  readonly pooling: string;
}

export interface Room {
  /** How many tokens are computed together; a longer text is computed alone. */
  readonly tokens: number;
  readonly sequences: number;
}

/**
 * What is computed next of all that waits, the oldest first and then one of each owner in turn. Each owner keeps its order; one
 * whose next text does not fit lets the others go on.
 */
export function nextBatch<Waiting extends Piece>(waiting: readonly Waiting[], room: Room): Waiting[] {
  const [oldest] = waiting;
  if (!oldest) return [];
  const lines = new Map<number, Waiting[]>();
  for (const piece of waiting) {
    if (piece.pooling !== oldest.pooling) continue;
    const line = lines.get(piece.owner);
    if (line) line.push(piece);
    else lines.set(piece.owner, [piece]);
  }
  const batch: Waiting[] = [];
  let tokens = 0;
  const queues = [...lines.values()].map((line) => ({ line, next: 0 }));
  for (let added = true; added; ) {
    added = false;
    for (const queue of queues) {
      const piece = queue.line[queue.next];
      if (!piece || batch.length >= room.sequences) continue;
      if (batch.length > 0 && tokens + piece.tokens > room.tokens) continue;
      batch.push(piece);
      tokens += piece.tokens;
      queue.next += 1;
      added = true;
    }
  }
  return batch;
}
