import { trials } from '../scheduling.ts';

/** The outcome after a step: won, or lost with this loss in milliseconds; undefined while the trial continues. */
export type Verdict = 'won' | { readonly loss: number } | undefined;

interface TrialOptions {
  /** Index of the tried number in the levels. */
  readonly level: number;
  readonly widthClass: number;
  /** It tries fewer threads than the current number. */
  readonly isDown: boolean;
  /** Steps with more threads are aborted if other programs need the cores. */
  readonly watched: boolean;
  /** Step time at its start. */
  readonly startedAt: number;
}

const { fasterRatio, muchFasterRatio, minSteps, minComparedMs, verySlowRatio, obviousGainMs } = trials;

/**
 * Steps with another number of threads. With fewer threads, each step is followed by one with the current number, to compare both under
 * the same conditions: fewer must win every comparison for a while. Times are milliseconds per token.
 */
export class Trial {
  readonly level: number;
  readonly widthClass: number;
  readonly isDown: boolean;
  /** The next step has the current number of threads. */
  isComparing = false;
  steps = 0;
  #sum = 0;
  #losses = 0;
  #last = 0;
  /** Milliseconds saved by fewer threads. */
  #gain = 0;

  constructor(private readonly options: TrialOptions) {
    this.level = options.level;
    this.widthClass = options.widthClass;
    this.isDown = options.isDown;
  }

  get meanTime(): number {
    return this.#sum / this.steps;
  }

  /** After a step with the tried number; steps with the current number take `typical`. */
  tried(time: number, typical: number, width: number): Verdict {
    this.steps += 1;
    this.#sum += time;
    this.#last = time;
    this.isComparing = this.isDown;
    const isLost = time > typical * fasterRatio;
    const lost = { loss: Math.max(time - typical, typical * 0.1) * width };
    if (this.isDown) return isLost ? lost : undefined;
    if (isLost) {
      // A first loss is noise, if the step was watched, not aborted and not very slow.
      this.#losses += 1;
      return !this.options.watched || this.#losses === 2 || time > typical * verySlowRatio ? lost : undefined;
    }
    return time < typical * muchFasterRatio || this.steps === minSteps ? 'won' : undefined;
  }

  /** After the following step with the current number; `clock` is the step time so far. */
  compared(time: number, width: number, clock: number): Verdict {
    const saved = (time - this.#last) * width;
    this.isComparing = false;
    this.#gain += saved;
    if (this.#last > time * fasterRatio) return { loss: Math.max(-saved, 0) };
    const isObvious = time > this.#last * verySlowRatio && this.#gain > obviousGainMs;
    const isLasting = this.steps >= minSteps && clock - this.options.startedAt >= minComparedMs;
    return isObvious || isLasting ? 'won' : undefined;
  }
}
