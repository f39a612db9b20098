import type { StepTimes } from '../../../core/text-service.ts';

/** Interval between two messages: one per step would cost more than metrics of that resolution are worth. */
const intervalMs = 1000;

/** Sums up how the time of the steps is spent. */
export class StepClock {
  #times = { steps: 0, rows: 0, computeMs: 0, sampleMs: 0, totalMs: 0 };
  #sentAt: number;

  constructor(
    private readonly send: (times: StepTimes) => void,
    private readonly now: () => number,
  ) {
    this.#sentAt = now();
  }

  /** A batch was computed until `computedAt`, and its tokens were sampled until now. */
  computed(rows: number, startedAt: number, computedAt: number): void {
    const times = this.#times;
    times.rows += rows;
    times.computeMs += computedAt - startedAt;
    times.sampleMs += this.now() - computedAt;
  }

  /** A step has ended; `last` sends the remaining times. */
  ended(startedAt: number, last: boolean): void {
    const now = this.now();
    this.#times.steps += 1;
    this.#times.totalMs += now - startedAt;
    if (!last && now - this.#sentAt < intervalMs) return;
    this.#sentAt = now;
    this.send(this.#times);
    this.#times = { steps: 0, rows: 0, computeMs: 0, sampleMs: 0, totalMs: 0 };
  }
}
