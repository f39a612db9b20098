import { trials } from '../scheduling.ts';

/** The outcome after a step: won, or lost with this loss in milliseconds; undefined while the trial continues. */
export type Verdict = 'won' | { readonly loss: number } | undefined;

const { fasterRatio, minSteps, verySlowRatio, obviousGainMs } = trials;

/**
 * Steps with another number of threads. With fewer threads, each step is followed by one with the current number, to compare both under
 * the same conditions: fewer must win every comparison for a while. Times are milliseconds per token.
 */
export class Trial {
  /** The next step has the current number of threads. */
  isComparing = false;
  steps = 0;
  #sum = 0;
  #last = 0;
  /** Milliseconds saved by the tried number. */
  gain = 0;

  constructor(
    /** Index of the tried number in the levels. */
    readonly level: number,
    readonly widthClass: number,
    /** It tries fewer threads than the current number. */
    readonly isDown: boolean,
  ) {}

  get meanTime(): number {
    return this.#sum / this.steps;
  }

  /** After a step with the tried number; steps with the current number take `typical`. */
  tried(time: number, typical: number, width: number): Verdict {
    this.steps += 1;
    this.#sum += time;
    this.#last = time;
    this.isComparing = this.isDown;
    if (!this.isDown) this.gain += (typical - time) * width;
    if (time > typical * fasterRatio) return { loss: Math.max(time - typical, typical * 0.1) * width };
    return !this.isDown && this.steps === minSteps ? 'won' : undefined;
  }

  /** After the following step with the current number. */
  compared(time: number, width: number): Verdict {
    const saved = (time - this.#last) * width;
    this.isComparing = false;
    this.gain += saved;
    if (this.#last > time * fasterRatio) return { loss: Math.max(-saved, 0) };
    const isObvious = time > this.#last * verySlowRatio && this.gain > obviousGainMs;
    return isObvious || this.steps >= minSteps ? 'won' : undefined;
  }
}
