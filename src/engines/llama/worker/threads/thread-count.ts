import { threads as policy, trials } from '../scheduling.ts';

const { minSteps, pauseMs, pauseShare, slowRatio, reliefRatio, baselineGain, baselineDrift } = policy;
const { retryMs, watchedSteps, firstTrialMs, waitPerLoss, minWaitMs, maxWaitMs } = policy;
const { fasterRatio, verySlowRatio, obviousGainMs } = trials;

/**
 * Finds the number of threads with which steps are fastest, by measuring the steps.
 *
 * The threads of the library spin at a barrier after each operation. If another program occupies the core of one of them, all others
 * wait for it several hundred times per step: two threads can be twenty times slower than one. So after steps that are much slower than
 * the baseline, steps with fewer threads and with the current number alternate until one of them has won. From time to time more threads
 * are tried again. A trial starts with one step, and the time that it lost determines when the next trial may start.
 */
export class ThreadCount {
  readonly #levels: readonly number[];
  readonly #growing: boolean;
  readonly #watched: boolean;
  readonly #retryMs: number;
  #level: number;
  #trial: Trial | undefined;
  /** The first trial is not delayed: the machine may be busy from the start. */
  #hasTried = false;
  /** Steps left to watch: after raising the number, and after slow steps before fewer threads are tried. */
  #toWatch = 0;
  #wereSlow = false;
  /** Level, width class and width of the running step. */
  #stepLevel: number;
  #stepClass = 0;
  #stepWidth = 1;
  /** Milliseconds lost by slow steps since the last trial with fewer threads. */
  #debt = 0;
  readonly #down: Direction = { at: 0, failures: 0 };
  readonly #up: Direction = { at: 0, failures: 0 };
  #lastStepAt = Number.NEGATIVE_INFINITY;
  /** The clock for planning trials: step time plus a small part of the pauses, so that trials cost the same share of few steps as of many. */
  #clock = 0;
  /** When the level was last changed. */
  #changedAt = 0;
  /** Whether the next trial jumps, to half or to all of the threads, instead of to the next level; toggled by a failed trial. */
  #jumps = false;
  /** By width class, in milliseconds per token: the last three steps, and the baseline of undisturbed steps. */
  readonly #recent = new Float64Array(widthClasses * 3);
  readonly #baseline = new Float64Array(widthClasses);
  /** Steps with the current number of threads. */
  readonly #steps = new Float64Array(widthClasses);

  /**
   * `growing`: steps of one width may take longer and longer, as the chunks of a long prompt do, so the baseline follows quickly.
   * `watched`: contention is detected while a step runs (`contended`), so fewer threads are tried less often, and more of them sooner: a
   * failed trial costs at most 100 ms. A prompt has few steps of seconds each: in those, fewer threads are not tried until the trial costs
   * a small share of the time.
   */
  constructor(max: number, { growing = false, watched = false } = {}) {
    this.#levels = threadLevels(max);
    this.#level = this.#levels.length - 1;
    this.#stepLevel = this.#level;
    this.#growing = growing;
    this.#watched = watched;
    this.#retryMs = watched ? retryMs.watched : retryMs.unwatched;
    this.#hasTried = watched;
    if (watched) this.#down.at = firstTrialMs;
  }

  get #max(): number {
    return this.#levels[this.#levels.length - 1] as number;
  }

  /** The current number of threads, apart from trials. */
  get current(): number {
    return this.#levels[this.#level] as number;
  }

  /** Whether to watch the step of `next`: it tries more threads, or the last steps were so slow that other programs may need the cores. */
  get needsWatch(): boolean {
    return this.#isRaising || this.#toWatch > 0;
  }

  get #isRaising(): boolean {
    return this.#stepLevel > this.#level;
  }

  /** Adopts the level of the other kind of steps if that has run recently and this one has not. */
  follow(other: ThreadCount, now: number): void {
    if (now - this.#lastStepAt <= pauseMs || now - other.#lastStepAt > pauseMs) return;
    const maxThreads = (other.current / other.#max) * this.#max;
    const level = Math.max(
      0,
      this.#levels.findLastIndex((count) => count <= maxThreads),
    );
    if (level !== this.#level) this.#setLevel(level);
  }

  /** The number for the next step, which computes `width` tokens. */
  next(width: number, now: number): number {
    const ownClass = widthClass(width);
    this.#stepClass = ownClass;
    this.#stepWidth = width;
    if (this.#trial?.widthClass !== ownClass) this.#trial = undefined;
    if (now > this.#lastStepAt && this.#lastStepAt >= 0) this.#clock += (now - this.#lastStepAt) * pauseShare;
    this.#lastStepAt = now;
    this.#trial ??= this.#startTrial(ownClass);
    this.#stepLevel = this.#trial && !this.#trial.isComparing ? this.#trial.level : this.#level;
    return this.#levels[this.#stepLevel] as number;
  }

  /** The step of `next` took this long. Not called for an aborted step. */
  completed(milliseconds: number, now: number): void {
    const time = milliseconds / this.#stepWidth;
    this.#lastStepAt = now;
    this.#clock += milliseconds;
    const trial = this.#trial;
    if (trial && !trial.isComparing) {
      this.#judge(trial, trial.tried(time, this.#typical(trial.widthClass), this.#stepWidth));
    } else {
      this.#record(time);
      if (trial) this.#judge(trial, trial.compared(time, this.#stepWidth));
    }
  }

  #judge(trial: Trial, verdict: Verdict): void {
    if (verdict === 'won') this.#accept(trial);
    else if (verdict) this.#reject(trial, verdict.loss);
  }

  /** The step of `next` was aborted after this time, because other programs occupy cores of its threads; `free` cores are left. */
  contended(free: number, milliseconds: number, now: number): void {
    this.#lastStepAt = now;
    this.#clock += milliseconds;
    if (this.#trial && this.#isRaising) {
      this.#reject(this.#trial, Math.max(0, milliseconds - this.#trial.gain));
      return;
    }
    const level = this.#levels.findLastIndex((count) => count <= Math.max(1, free));
    this.#setLevel(Math.min(level, this.#level));
  }

  #startTrial(ownClass: number): Trial | undefined {
    const level = this.#levelToTry(ownClass);
    if (level === undefined) return undefined;
    this.#hasTried = true;
    return new Trial(level, ownClass, level < this.#level);
  }

  #levelToTry(ownClass: number): number | undefined {
    const top = this.#levels.length - 1;
    if (this.#baseline[ownClass] === 0) return undefined;
    if (this.#level > 0 && this.#debt > this.#maxDebt(ownClass)) {
      if (!this.#watched || this.#toWatch > 0) return this.#lowerLevel();
      this.#toWatch = watchedSteps;
      this.#wereSlow = true;
      this.#debt = 0;
      return undefined;
    }
    const hasMedian = (this.#steps[ownClass] as number) >= minSteps;
    if (!hasMedian && this.#hasTried && !this.#watched) return undefined;
    if ((hasMedian || !this.#hasTried) && this.#isDownDue(ownClass)) return this.#lowerLevel();
    if (this.#level === top || this.#clock < this.#up.at) return undefined;
    return this.#jumps ? top : this.#level + 1;
  }

  #isDownDue(ownClass: number): boolean {
    if (this.#level === 0 || this.#clock < this.#down.at) return false;
    if (!this.#watched || !this.#growing) return true;
    return this.#expectedLoss(ownClass) * waitPerLoss.first <= this.#clock - this.#changedAt;
  }

  #lowerLevel(): number {
    return this.#jumps ? this.#level >> 1 : this.#level - 1;
  }

  /** Time that slow steps may lose before fewer threads are tried: twice the loss of such a trial on an idle machine, more after failures. */
  #maxDebt(ownClass: number): number {
    return 2 ** Math.min(1 + this.#down.failures, 5) * this.#expectedLoss(ownClass);
  }

  /** What a step with fewer threads costs on an idle machine. */
  #expectedLoss(ownClass: number): number {
    const share = this.current / (this.#levels[this.#lowerLevel()] as number) - 1;
    return share * (this.#baseline[ownClass] as number) * this.#stepWidth;
  }

  #record(time: number): void {
    const ownClass = this.#stepClass;
    const [steps, baseline] = [this.#steps[ownClass] as number, this.#baseline[ownClass] as number];
    this.#steps[ownClass] = steps + 1;
    if (steps === 0) this.#fillRecent(ownClass, time);
    else this.#recent[ownClass * 3 + (steps % 3)] = time;
    if (baseline === 0) {
      this.#baseline[ownClass] = time;
      return;
    }
    // An undisturbed step ends a disturbance: rare interruptions never add up to a trial.
    this.#debt = time > baseline * slowRatio ? this.#debt + (time - baseline) * this.#stepWidth : 0;
    if (this.#toWatch > 0) this.#watchedStepEnded();
    const typical = this.#typical(ownClass);
    // Cores may be free again: more threads are tried at once, but only once.
    if (typical < baseline * reliefRatio && steps >= minSteps) {
      this.#up.at = 0;
      this.#baseline[ownClass] = typical;
    } else if (time < baseline) {
      this.#baseline[ownClass] = baseline + (time - baseline) * baselineGain;
    } else {
      const drift = baselineDrift[this.#growing ? 'growing' : 'steady'];
      this.#baseline[ownClass] = baseline + (Math.min(time, baseline * slowRatio) - baseline) * drift;
    }
  }

  /** A watched step ended without contention. */
  #watchedStepEnded(): void {
    this.#toWatch -= 1;
    if (this.#toWatch > 0 || !this.#wereSlow) return;
    this.#wereSlow = false;
    this.#down.failures += 1;
  }

  /** The median of three steps, which a single interruption does not change. */
  #typical(ownClass: number): number {
    const [a, b, c] = this.#recent.subarray(ownClass * 3, ownClass * 3 + 3) as unknown as [number, number, number];
    return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
  }

  #fillRecent(ownClass: number, time: number): void {
    this.#recent.fill(time, ownClass * 3, ownClass * 3 + 3);
  }

  #reject({ isDown, widthClass: ownClass }: Trial, loss: number): void {
    const direction = isDown ? this.#down : this.#up;
    direction.failures += 1;
    direction.at = this.#clock + waitAfter(loss, direction.failures) * (isDown && this.#watched ? 4 : 1);
    if (isDown) {
      // Fewer threads are not faster: the present times become the baseline.
      this.#toWatch = 0;
      this.#debt = 0;
      this.#baseline[ownClass] = this.#typical(ownClass);
    }
    this.#jumps = !this.#jumps;
    this.#trial = undefined;
  }

  #accept({ isDown, level, widthClass: ownClass, meanTime, steps }: Trial): void {
    this.#setLevel(level);
    if (!isDown && this.#watched) this.#toWatch = watchedSteps;
    this.#fillRecent(ownClass, meanTime);
    this.#baseline[ownClass] = meanTime;
    this.#steps[ownClass] = steps;
  }

  /** Changes the level. Times with another number of threads are not comparable, so all statistics are reset. */
  #setLevel(level: number): void {
    const nextTrialAt = this.#clock + this.#retryMs;
    this.#level = level;
    this.#changedAt = this.#clock;
    this.#trial = undefined;
    this.#jumps = false;
    this.#debt = 0;
    this.#down.failures = 0;
    this.#down.at = nextTrialAt;
    this.#up.failures = 0;
    this.#up.at = nextTrialAt;
    this.#toWatch = 0;
    this.#wereSlow = false;
    this.#steps.fill(0);
    this.#recent.fill(0);
    this.#baseline.fill(0);
  }
}

interface Direction {
  /** No trial before this time of the clock. */
  at: number;
  /** Failed trials in a row. */
  failures: number;
}

/** The pause after a failed trial: it doubles with each failure in a row. */
function waitAfter(loss: number, failures: number): number {
  const phase = failures > 2 ? 'later' : 'first';
  const max = Math.max(maxWaitMs[phase], loss * waitPerLoss[phase]);
  return Math.min(Math.max(minWaitMs, loss * waitPerLoss.first * 2 ** Math.min(failures, 12)), max);
}

/** The numbers of threads to choose from, ascending: each one, and from 16 on about an eighth less at a time. */
export function threadLevels(max: number): readonly number[] {
  const levels: number[] = [];
  for (let count = Math.max(1, max); count >= 1; count -= Math.max(1, Math.floor(count / 8))) levels.unshift(count);
  return levels;
}

const widthClasses = 64;

/** Classes of widths with about the same time per token: 1, 2, 3, 4, up to 6, 8, 12, 16, 24, … */
export function widthClass(width: number): number {
  if (width <= 2) return width;
  const octave = 31 - Math.clz32(width - 1);
  const half = width - 1 >= 3 * 2 ** (octave - 1) ? 1 : 0;
  return Math.min(1 + octave * 2 + half, widthClasses - 1);
}

/** The outcome after a step: won, or lost with this loss in milliseconds; undefined while the trial continues. */
type Verdict = 'won' | { readonly loss: number } | undefined;

/**
 * Steps with another number of threads. With fewer threads, each step is followed by one with the current number, to compare both under
 * the same conditions: fewer must win every comparison for a while. Times are milliseconds per token.
 */
class Trial {
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
    return !this.isDown && this.steps === trials.minSteps ? 'won' : undefined;
  }

  /** After the following step with the current number. */
  compared(time: number, width: number): Verdict {
    const saved = (time - this.#last) * width;
    this.isComparing = false;
    this.gain += saved;
    if (this.#last > time * fasterRatio) return { loss: Math.max(-saved, 0) };
    const isObvious = time > this.#last * verySlowRatio && this.gain > obviousGainMs;
    return isObvious || this.steps >= trials.minSteps ? 'won' : undefined;
  }
}
