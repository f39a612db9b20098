/** What a step has decided: the trial is won, or lost with this loss in milliseconds; undefined while it goes on. */
export type Verdict = 'won' | { readonly loss: number } | undefined;

interface TrialOptions {
  /** Place of the number in the levels. */
  readonly level: number;
  readonly widthClass: number;
  /** It has fewer threads than the present number. */
  readonly isDown: boolean;
  /** Steps with more threads are given up if others need the cores. */
  readonly watched: boolean;
  /** Time of the steps at its beginning. */
  readonly startedAt: number;
}

/** Share of the time that a trial must be below; with more threads `muchFaster` once is enough, otherwise it takes `enoughSteps`. */
const faster = 0.92;
const muchFaster = 0.65;
const enoughSteps = 3;
/** How long fewer threads must win, unless they save very much: a machine may be disturbed for some milliseconds at any time. */
const comparedMs = 100;
const verySlow = 4;
const muchGainMs = 300;

/**
 * Steps with another number of threads. With fewer, each is followed by one with the present number, to compare both under the same conditions:
 * fewer must win all of them, for a while. Times are milliseconds per token.
 */
export class Trial {
  readonly level: number;
  readonly widthClass: number;
  readonly isDown: boolean;
  /** The next step has the present number. */
  isComparing = false;
  steps = 0;
  #sum = 0;
  #losses = 0;
  #last = 0;
  /** Milliseconds that fewer threads have saved. */
  #gain = 0;

  constructor(private readonly options: TrialOptions) {
    this.level = options.level;
    this.widthClass = options.widthClass;
    this.isDown = options.isDown;
  }

  get meanTime(): number {
    return this.#sum / this.steps;
  }

  /** A step with the number that is tried; steps with the present one typically take `typical`. */
  tried(time: number, typical: number, width: number): Verdict {
    this.steps += 1;
    this.#sum += time;
    this.#last = time;
    this.isComparing = this.isDown;
    const isLost = time > typical * faster;
    const lost = { loss: Math.max(time - typical, typical * 0.1) * width };
    if (this.isDown) return isLost ? lost : undefined;
    if (isLost) {
      // Chance, if the step was not given up and not very slow.
      this.#losses += 1;
      return !this.options.watched || this.#losses === 2 || time > typical * verySlow ? lost : undefined;
    }
    return time < typical * muchFaster || this.steps === enoughSteps ? 'won' : undefined;
  }

  /** The step after it, with the present number; `clock` is the time of the steps by now. */
  compared(time: number, width: number, clock: number): Verdict {
    const saved = (time - this.#last) * width;
    this.isComparing = false;
    this.#gain += saved;
    if (this.#last > time * faster) return { loss: Math.max(-saved, 0) };
    const isObvious = time > this.#last * verySlow && this.#gain > muchGainMs;
    const isLasting = this.steps >= enoughSteps && clock - this.options.startedAt >= comparedMs;
    return isObvious || isLasting ? 'won' : undefined;
  }
}
