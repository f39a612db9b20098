import { Jobs } from './jobs.ts';
import { PerformanceLog } from './performance.ts';
import type { Queue } from './queue.ts';

/** Shared by all engines: admission and order, requests by key, and the figures of the last requests. */
export class RequestQueue {
  readonly jobs = new Jobs();
  readonly log: PerformanceLog;
  #number = 0;
  readonly #finished = new Map<string, Finished>();

  constructor(
    readonly queue: Queue,
    /** Milliseconds of a monotonic clock. */
    readonly now: () => number,
  ) {
    this.log = new PerformanceLog(now);
  }

  nextNumber(): number {
    this.#number += 1;
    return this.#number;
  }

  /** Counts a finished task. Texts are counted by the log. */
  finished(kind: string, well: boolean): void {
    const { done, failed } = this.count(kind);
    this.#finished.set(kind, well ? { done: done + 1, failed } : { done, failed: failed + 1 });
  }

  count(kind: string): Finished {
    return this.#finished.get(kind) ?? { done: 0, failed: 0 };
  }
}

export interface Finished {
  readonly done: number;
  /** Including aborted ones. */
  readonly failed: number;
}
