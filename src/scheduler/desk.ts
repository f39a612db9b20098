import { Jobs } from './jobs.ts';
import { PerformanceLog } from './performance.ts';
import type { Queue } from './queue.ts';

/** What all work shares, whatever serves it: the queue, the requests by their keys, and the figures of the last ones. */
export class Desk {
  readonly jobs = new Jobs();
  readonly log: PerformanceLog;
  #number = 0;

  constructor(
    readonly queue: Queue,
    /** Milliseconds of a clock that never goes back. */
    readonly now: () => number,
  ) {
    this.log = new PerformanceLog(now);
  }

  nextNumber(): number {
    this.#number += 1;
    return this.#number;
  }
}
