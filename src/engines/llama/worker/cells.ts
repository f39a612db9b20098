/**
 * All sequences share the cells of one cache. What runs has reserved what it may come to need, so it never runs out; what
 * rests keeps its cells until somebody needs them.
 */
export interface CellUser {
  readonly busy: boolean;
  readonly usedAt: number;
  /** Cells in use, or reserved while at work. */
  readonly cells: number;
}

/** The resting slots to empty so that `needed` cells are free, oldest first; undefined when only waiting helps. */
export function slotsToEmpty<User extends CellUser>(
  users: readonly User[],
  needed: number,
  capacity: number,
): readonly User[] | undefined {
  let free = capacity - users.reduce((sum, { cells }) => sum + cells, 0);
  const emptied: User[] = [];
  const resting = users.filter(({ busy, cells }) => !busy && cells > 0).sort((a, b) => a.usedAt - b.usedAt);
  for (const user of resting) {
    if (free >= needed) break;
    emptied.push(user);
    free += user.cells;
  }
  return free >= needed ? emptied : undefined;
}

/**
 * How many cells to share among `sequences`: room for the whole context of a quarter of them (two at least). Few are long
 * at the same time, and a cell costs memory whether or not it is used.
 */
export function sharedCells(contextSize: number, sequences: number): number {
  return contextSize * (sequences <= 1 ? 1 : Math.max(2, Math.ceil(sequences / 4)));
}
