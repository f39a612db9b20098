import { leastUseful } from './checkpoint-plan.ts';

/** What a memory cannot take back by itself, as it was when the first `index` tokens were computed. */
export interface Checkpoint {
  readonly index: number;
  readonly state: Uint8Array;
}

export interface CheckpointLimits {
  readonly count: number;
  readonly bytes: number;
}

/** The checkpoints of one text, in its order. Those that follow a change are useless and must be dropped. */
export class Checkpoints {
  #list: readonly Checkpoint[] = [];

  constructor(private readonly limits: CheckpointLimits) {}

  get all(): readonly Checkpoint[] {
    return this.#list;
  }

  get bytes(): number {
    return checkpointBytes(this.#list);
  }

  /** The last one that a text can go back to which is shared up to `index`. */
  upTo(index: number): Checkpoint | undefined {
    return this.#list.findLast((one) => one.index <= index);
  }

  /** Takes one more, and gives up what is least useful to a text of this length where there are too many. */
  add(checkpoint: Checkpoint, end: number): void {
    // Empty: the library could not give it.
    if (checkpoint.state.length === 0 || checkpoint.state.length > this.limits.bytes) return;
    const list = [...this.#list.filter(({ index }) => index < checkpoint.index), checkpoint];
    while (list.length > this.limits.count || checkpointBytes(list) > this.limits.bytes) {
      const indices = list.map(({ index }) => index);
      list.splice(leastUseful(indices, end), 1);
    }
    this.#list = list;
  }

  dropBehind(index: number): void {
    if (this.#list.some((one) => one.index > index)) this.#list = this.#list.filter((one) => one.index <= index);
  }

  replace(list: readonly Checkpoint[]): void {
    this.#list = list;
  }
}

export function checkpointBytes(list: readonly Checkpoint[]): number {
  return list.reduce((sum, { state }) => sum + state.length, 0);
}
