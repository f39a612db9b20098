import { type ThreadSwitches, threadHeuristics, threads, trials } from '../scheduling.ts';

const { pauseMs, pauseShare, slowRatio, reliefRatio, baselineGain, baselineDrift, retryMs } = threads;
const { watchedSteps, firstTrialMs, waitPerLoss, minWaitMs, maxWaitMs, downWaitRatio, maxFailures } = threads;
const { fasterRatio, verySlowRatio, obviousGainMs, minSteps } = trials;

interface ThreadCountOptions {
  /** Steps of one width may take longer and longer, as the chunks of a long prompt do, so the baseline follows quickly. */
  readonly growing?: boolean;
  /**
   * Contention is detected while a step runs (`contended`), so fewer threads are tried less often, and more of them sooner: a failed trial
   * costs at most 100 ms. A prompt has few steps of seconds each: in those, fewer threads are not tried until the trial costs a small
   * share of the time.
   */
  readonly watched?: boolean;
}

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
  #level: number;
  #trial: Trial | undefined;
  /** The first trial is not delayed: the machine may be busy from the start. */
  #hasTried: boolean;
  /** Steps left to watch: after raising the number, and after slow steps before fewer threads are tried. */
  #toWatch = 0;
  /** The running step: the index of its number of threads, and how many tokens it computes. */
  #step = { level: 0, width: 1, widthClass: 1 };
  /** Milliseconds lost by slow steps since the last trial with fewer threads. */
  #debt = 0;
  #down: Direction;
  #up: Direction = { at: 0, failures: 0 };
  #lastStepAt = Number.NEGATIVE_INFINITY;
  /** The clock for planning trials: step time plus a small part of the pauses, so that trials cost the same share of few steps as of many. */
  #clock = 0;
  /** When the level was last changed. */
  #changedAt = 0;
  /** Whether the next trial jumps, to half or to all of the threads, instead of to the next level; toggled by a failed trial. */
  #jumps = false;
  /** With the current number of threads, by width class. */
  readonly #times = new Map<number, StepTimes>();

  constructor(
    max: number,
    { growing = false, watched = false }: ThreadCountOptions = {},
    private readonly on: ThreadSwitches = threadHeuristics,
  ) {
    this.#levels = threadLevels(max);
    this.#level = this.#top;
    this.#growing = growing;
    this.#watched = watched;
    this.#hasTried = watched;
    this.#down = { at: watched ? firstTrialMs : 0, failures: 0 };
  }

  get #top(): number {
    return this.#levels.length - 1;
  }

  #count(level: number): number {
    return this.#levels[level] as number;
  }

  /** The current number of threads, apart from trials. */
  get current(): number {
    return this.#count(this.#level);
  }

  /** Whether to watch the step of `next`: it tries more threads, or the last steps were so slow that other programs may need the cores. */
  get needsWatch(): boolean {
    return this.#isRaising || this.#toWatch > 0;
  }

  get #isRaising(): boolean {
    return this.#step.level > this.#level;
  }

  /** Adopts the level of the other kind of steps if that has run recently and this one has not. */
  follow(other: ThreadCount, now: number): void {
    if (now - this.#lastStepAt <= pauseMs || now - other.#lastStepAt > pauseMs) return;
    const level = this.#levelFor((other.current / other.#count(other.#top)) * this.#count(this.#top));
    if (level !== this.#level) this.#setLevel(level);
  }

  /** The highest level with at most this many threads. */
  #levelFor(maxThreads: number): number {
    return this.#levels.findLastIndex((count) => count <= Math.max(1, maxThreads));
  }

  /** The number for the next step, which computes `width` tokens. */
  next(width: number, now: number): number {
    const ownClass = widthClass(width);
    if (this.#trial?.widthClass !== ownClass) this.#trial = undefined;
    if (now > this.#lastStepAt && this.#lastStepAt >= 0) this.#clock += (now - this.#lastStepAt) * pauseShare;
    this.#lastStepAt = now;
    this.#trial ??= this.#startTrial(ownClass, width);
    const level = this.#trial && !this.#trial.isComparing ? this.#trial.level : this.#level;
    this.#step = { level, width, widthClass: ownClass };
    return this.#count(level);
  }

  /** The step of `next` took this long. Not called for an aborted step. */
  completed(milliseconds: number, now: number): void {
    const { width, widthClass: ownClass } = this.#step;
    const time = milliseconds / width;
    this.#ended(milliseconds, now);
    const trial = this.#trial;
    if (!trial || trial.isComparing) this.#record(ownClass, time, width);
    const typical = this.#times.get(ownClass)?.typical ?? time;
    const verdict = trial?.stepEnded(time, typical, width);
    if (verdict === 'won') this.#accept(trial as Trial);
    else if (verdict) this.#reject(trial as Trial, verdict.loss);
  }

  /** The step of `next` was aborted after this time, because other programs occupy cores of its threads; `free` cores are left. */
  contended(free: number, milliseconds: number, now: number): void {
    this.#ended(milliseconds, now);
    if (this.#trial && this.#isRaising) this.#reject(this.#trial, Math.max(0, milliseconds - this.#trial.gain));
    else this.#setLevel(Math.min(this.#levelFor(free), this.#level));
  }

  #ended(milliseconds: number, now: number): void {
    this.#lastStepAt = now;
    this.#clock += milliseconds;
  }

  #startTrial(ownClass: number, width: number): Trial | undefined {
    const times = this.#times.get(ownClass);
    const level = times && this.#levelToTry(times, width);
    if (level === undefined) return undefined;
    this.#hasTried = true;
    return new Trial(level, ownClass, level < this.#level, this.on);
  }

  #levelToTry({ baseline, steps }: StepTimes, width: number): number | undefined {
    const { on } = this;
    const lower = this.#jumps ? this.#level >> 1 : this.#level - 1;
    /** What a step with fewer threads costs on an idle machine. */
    const expectedLoss = this.#level === 0 ? 0 : (this.current / this.#count(lower) - 1) * baseline * width;
    // Twice the loss of a trial on an idle machine, more after failures.
    const maxDebt = 2 ** (on.backoff ? Math.min(1 + this.#down.failures, maxFailures) : 1) * expectedLoss;
    if (on.slowSteps && this.#level > 0 && this.#debt > maxDebt) {
      if (!on.watchBeforeTrial || !this.#watched || this.#toWatch > 0) return lower;
      this.#toWatch = watchedSteps;
      this.#debt = 0;
      return undefined;
    }
    const hasMedian = steps >= minSteps;
    if ((hasMedian || !this.#hasTried) && this.#isDownDue(expectedLoss)) return lower;
    if (this.#level === this.#top || this.#clock < this.#up.at || !(hasMedian || this.#watched)) return undefined;
    return this.#jumps ? this.#top : this.#level + 1;
  }

  #isDownDue(expectedLoss: number): boolean {
    if (!this.on.regularTrials || this.#level === 0 || this.#clock < this.#down.at) return false;
    if (!this.#watched || !this.#growing) return true;
    return expectedLoss * waitPerLoss <= this.#clock - this.#changedAt;
  }

  #record(ownClass: number, time: number, width: number): void {
    const times = this.#times.get(ownClass);
    if (!times) {
      this.#times.set(ownClass, new StepTimes(time));
      return;
    }
    const { baseline, steps } = times;
    times.add(time);
    // An undisturbed step ends a disturbance: rare interruptions never add up to a trial.
    this.#debt = time > baseline * slowRatio ? this.#debt + (time - baseline) * width : 0;
    if (this.#toWatch > 0) this.#toWatch -= 1;
    // Cores may be free again: more threads are tried at once, but only once.
    if (this.on.relief && times.typical < baseline * reliefRatio && steps >= minSteps) {
      this.#up.at = 0;
      times.baseline = times.typical;
    } else {
      const drift = baselineDrift[this.#growing ? 'growing' : 'steady'];
      times.baseline += (Math.min(time, baseline * slowRatio) - baseline) * (time < baseline ? baselineGain : drift);
    }
  }

  #reject({ isDown, widthClass: ownClass }: Trial, loss: number): void {
    const direction = isDown ? this.#down : this.#up;
    direction.failures += 1;
    const wait = waitAfter(loss, direction.failures) * (isDown && this.#watched ? downWaitRatio : 1);
    direction.at = this.#clock + wait;
    if (isDown) {
      // Fewer threads are not faster: the present times become the baseline.
      this.#toWatch = 0;
      this.#debt = 0;
      const times = this.#times.get(ownClass);
      if (times) times.baseline = times.typical;
    }
    this.#jumps = this.on.jumps && !this.#jumps;
    this.#trial = undefined;
  }

  #accept({ isDown, level, widthClass: ownClass, meanTime, steps }: Trial): void {
    this.#setLevel(level);
    if (!isDown && this.#watched) this.#toWatch = watchedSteps;
    this.#times.set(ownClass, new StepTimes(meanTime, steps));
  }

  /** Changes the level. Times with another number of threads are not comparable, so all statistics are reset. */
  #setLevel(level: number): void {
    this.#level = level;
    this.#changedAt = this.#clock;
    this.#trial = undefined;
    this.#jumps = false;
    this.#debt = 0;
    this.#down = { at: this.#clock + retryMs, failures: 0 };
    this.#up = { at: this.#clock + retryMs, failures: 0 };
    this.#toWatch = 0;
    this.#times.clear();
  }
}

interface Direction {
  /** No trial before this time of the clock. */
  at: number;
  /** Failed trials in a row. */
  failures: number;
}

/** The pause after a failed trial: it doubles with each failure in a row, up to a bound that doubles after the second. */
function waitAfter(loss: number, failures: number): number {
  const wait = Math.max(minWaitMs, loss * waitPerLoss * 2 ** Math.min(failures, 12));
  return Math.min(wait, Math.max(maxWaitMs, loss * waitPerLoss) * (failures > 2 ? 2 : 1));
}

/** Times of the steps of one width class, in milliseconds per token. */
class StepTimes {
  #recent: readonly number[];

  constructor(
    /** That of undisturbed steps. */
    public baseline: number,
    public steps = 1,
  ) {
    this.#recent = [baseline, baseline, baseline];
  }

  add(time: number): void {
    this.#recent = [...this.#recent.slice(1), time];
    this.steps += 1;
  }

  /** The median of three steps, which a single interruption does not change. */
  get typical(): number {
    return this.#recent.toSorted((a, b) => a - b)[1] as number;
  }
}

/** The numbers of threads to choose from, ascending: each one, and from 16 on about an eighth less at a time. */
export function threadLevels(max: number): readonly number[] {
  const levels: number[] = [];
  for (let count = Math.max(1, max); count >= 1; count -= Math.max(1, Math.floor(count / 8))) levels.unshift(count);
  return levels;
}

/** Classes of widths with about the same time per token: 1, 2, 3, 4, up to 6, 8, 12, 16, 24, … */
export function widthClass(width: number): number {
  if (width <= 2) return width;
  const octave = 31 - Math.clz32(width - 1);
  return 1 + octave * 2 + (width - 1 >= 3 * 2 ** (octave - 1) ? 1 : 0);
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
    private readonly on: ThreadSwitches,
  ) {}

  get meanTime(): number {
    return this.#sum / this.steps;
  }

  /** Steps with the current number take `typical`. */
  stepEnded(time: number, typical: number, width: number): Verdict {
    return this.isComparing ? this.#compared(time, width) : this.#tried(time, typical, width);
  }

  #tried(time: number, typical: number, width: number): Verdict {
    this.steps += 1;
    this.#sum += time;
    this.#last = time;
    this.isComparing = this.isDown;
    if (!this.isDown) this.gain += (typical - time) * width;
    if (time > typical * fasterRatio) return { loss: Math.max(time - typical, typical * 0.1) * width };
    return !this.isDown && this.steps === minSteps ? 'won' : undefined;
  }

  #compared(time: number, width: number): Verdict {
    const saved = (time - this.#last) * width;
    this.isComparing = false;
    this.gain += saved;
    if (this.#last > time * fasterRatio) return { loss: Math.max(-saved, 0) };
    const isObvious = this.on.obviousWins && time > this.#last * verySlowRatio && this.gain > obviousGainMs;
    return isObvious || this.steps >= minSteps ? 'won' : undefined;
  }
}
