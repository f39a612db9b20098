import { Trial, type Verdict } from './trial.ts';

/**
 * Finds the number of threads with which steps are fastest, from how long they take.
 *
 * The threads of the library spin at a barrier after each operation. If another program runs in place of one of them, all others
 * wait for it several hundred times in a step: two threads can be twenty times slower than one. So a step that takes much longer
 * than usual is followed by steps with fewer threads and with the present number in turn, until one of both has won. Whether more are
 * faster again is tried from time to time. Each trial is one step at first, and the time that it lost decides when the next one may be.
 */
export class ThreadCount {
  readonly #levels: readonly number[];
  readonly #usualDrift: number;
  readonly #watched: boolean;
  readonly #soonMs: number;
  #level: number;
  #trial: Trial | undefined;
  /** The first trial comes at once: the machine may be busy from the beginning. */
  #hasTried = false;
  /** Steps that are left to watch: after more threads, and after slow steps, before fewer are tried. */
  #toWatch = 0;
  #wereSlow = false;
  /** Level and class of the step that is being computed. */
  #stepLevel: number;
  #stepClass = 0;
  #stepWidth = 1;
  /** Milliseconds that slow steps have cost since the last trial with fewer threads. */
  #debt = 0;
  readonly #down: Direction = { at: 0, failures: 0 };
  readonly #up: Direction = { at: 0, failures: 0 };
  #raisedAt = Number.NEGATIVE_INFINITY;
  #lastStepAt = Number.NEGATIVE_INFINITY;
  /** Time by which trials are planned: that of the steps, so that they cost no more of few steps than of many, and little of the pauses. */
  #clock = 0;
  /** Whether the next trial goes far, to half as many or to all threads, or only to the next level; after a failure the other one. */
  #far = false;
  /** By width class, in milliseconds per token: the last three steps, and what a step takes if nothing disturbs it. */
  readonly #recent = new Float64Array(widthClasses * 3);
  readonly #usual = new Float64Array(widthClasses);
  /** How many steps there were with the present number of threads and without a long pause. */
  readonly #steps = new Float64Array(widthClasses);
  readonly #seenAt = new Float64Array(widthClasses);

  /**
   * With `growing` widths of one class may take longer and longer: chunks of a long prompt do. With `watched` steps other programs are
   * noticed while the step runs (`contended`), and fewer threads are tried less often.
   */
  constructor(most: number, { growing = false, watched = false } = {}) {
    this.#levels = threadLevels(most);
    this.#level = this.#levels.length - 1;
    this.#stepLevel = this.#level;
    this.#usualDrift = growing ? 0.3 : 0.002;
    this.#watched = watched;
    this.#soonMs = watched ? soon.watched : soon.unwatched;
    this.#hasTried = watched;
    if (watched) this.#down.at = calmMs;
  }

  get #most(): number {
    return this.#levels[this.#levels.length - 1] as number;
  }

  /** The number that is kept, apart from trials. */
  get current(): number {
    return this.#levels[this.#level] as number;
  }

  /** Whether the step of `next` should be watched: it has more threads than were kept until now, or steps were so slow that others may need the cores. */
  get isDoubtful(): boolean {
    return this.#isRaising || this.#toWatch > 0;
  }

  get #isRaising(): boolean {
    return this.#stepLevel > this.#level;
  }

  /** Takes over the number of other steps on the same machine, if it has not seen the machine for a while and they have. */
  follow(other: ThreadCount, now: number): void {
    if (now - this.#lastStepAt <= pauseMs || now - other.#lastStepAt > pauseMs) return;
    const most = (other.current / other.#most) * this.#most;
    const level = Math.max(
      0,
      this.#levels.findLastIndex((count) => count <= most),
    );
    if (level !== this.#level) this.#settle(level, this.#soonMs);
  }

  /** The number for the next step, which computes `width` tokens. */
  next(width: number, now: number): number {
    const own = widthClass(width);
    this.#stepClass = own;
    this.#stepWidth = width;
    if (now - (this.#seenAt[own] as number) > pauseMs) this.#steps[own] = 0;
    if (this.#trial?.widthClass !== own) this.#trial = undefined;
    if (now > this.#lastStepAt && this.#lastStepAt >= 0) this.#clock += (now - this.#lastStepAt) * pauseShare;
    this.#lastStepAt = now;
    this.#trial ??= this.#begin(own);
    this.#stepLevel = this.#trial && !this.#trial.isComparing ? this.#trial.level : this.#level;
    return this.#levels[this.#stepLevel] as number;
  }

  /** The step of `next` took this long. Not called for a step that was aborted. */
  took(milliseconds: number, now: number): void {
    const time = milliseconds / this.#stepWidth;
    this.#lastStepAt = now;
    this.#clock += milliseconds;
    const trial = this.#trial;
    if (trial && !trial.isComparing) {
      this.#seenAt[trial.widthClass] = now;
      this.#judge(trial, trial.tried(time, this.#typical(trial.widthClass), this.#stepWidth));
    } else {
      this.#stepped(time, now);
      if (trial) this.#judge(trial, trial.compared(time, this.#stepWidth, this.#clock));
    }
  }

  #judge(trial: Trial, verdict: Verdict): void {
    if (verdict === 'won') this.#accept(trial);
    else if (verdict) this.#reject(trial, verdict.loss);
  }

  /** The step of `next` was given up after this time: other programs need cores of its threads, and leave so many. */
  contended(free: number, milliseconds: number, now: number): void {
    this.#lastStepAt = now;
    this.#clock += milliseconds;
    if (this.#trial && this.#isRaising) {
      this.#reject(this.#trial, milliseconds);
      return;
    }
    const level = this.#levels.findLastIndex((count) => count <= Math.max(1, free));
    this.#lowered(milliseconds);
    this.#settle(Math.min(level, this.#level), this.#soonMs);
  }

  #begin(own: number): Trial | undefined {
    const level = this.#levelToTry(own);
    if (level === undefined) return undefined;
    this.#hasTried = true;
    const [isDown, startedAt] = [level < this.#level, this.#clock];
    return new Trial({ level, widthClass: own, isDown, watched: this.#watched, startedAt });
  }

  #levelToTry(own: number): number | undefined {
    const top = this.#levels.length - 1;
    if (this.#usual[own] === 0) return undefined;
    if (this.#level > 0 && this.#debt > this.#bearable(own)) {
      if (!this.#watched || this.#toWatch > 0) return this.#lower();
      this.#toWatch = stepsToWatch;
      this.#wereSlow = true;
      this.#debt = 0;
      return undefined;
    }
    if ((this.#steps[own] as number) < enoughSteps && this.#hasTried) return undefined;
    if (this.#level > 0 && this.#clock >= this.#down.at) return this.#lower();
    if (this.#level === top || this.#clock < this.#up.at) return undefined;
    return this.#far ? top : this.#level + 1;
  }

  #lower(): number {
    return this.#far ? this.#level >> 1 : this.#level - 1;
  }

  /** What slow steps may cost before fewer threads are tried: twice what the trial would lose on an idle machine, and more after failures. */
  #bearable(own: number): number {
    const loss = this.current / (this.#levels[this.#lower()] as number) - 1;
    const step = (this.#usual[own] as number) * this.#stepWidth;
    return 2 ** Math.min(1 + this.#down.failures, 5) * loss * step;
  }

  #stepped(time: number, now: number): void {
    const own = this.#stepClass;
    const [steps, usual] = [this.#steps[own] as number, this.#usual[own] as number];
    this.#seenAt[own] = now;
    this.#steps[own] = steps + 1;
    if (steps === 0) this.#remember(own, time);
    else this.#recent[own * 3 + (steps % 3)] = time;
    if (usual === 0) {
      this.#usual[own] = time;
      return;
    }
    const wasSlow = time > usual * slow;
    if (wasSlow) this.#debt += (time - usual) * this.#stepWidth;
    else this.#debt *= debtLeft;
    if (this.#toWatch > 0) this.#seen();
    const typical = this.#typical(own);
    // More threads may be free again: tried at once, but only once.
    if (typical < usual * relieved && steps >= enoughSteps) {
      this.#up.at = 0;
      this.#usual[own] = typical;
    } else if (time < usual) {
      this.#usual[own] = usual + (time - usual) * 0.05;
    } else {
      this.#usual[own] = usual + (Math.min(time, usual * slow) - usual) * this.#usualDrift;
    }
  }

  /** A step that was watched is over, and was not given up. */
  #seen(): void {
    this.#toWatch -= 1;
    if (this.#toWatch > 0 || !this.#wereSlow) return;
    this.#wereSlow = false;
    this.#down.failures += 1;
  }

  /** The median of three, which one long interruption does not change. */
  #typical(own: number): number {
    const [a, b, c] = this.#recent.subarray(own * 3, own * 3 + 3) as unknown as [number, number, number];
    return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
  }

  #remember(own: number, time: number): void {
    this.#recent.fill(time, own * 3, own * 3 + 3);
  }

  #reject({ isDown, widthClass: own }: Trial, loss: number): void {
    const direction = isDown ? this.#down : this.#up;
    direction.failures += 1;
    direction.at = this.#clock + waitAfter(loss, direction.failures) * (isDown && this.#watched ? 4 : 1);
    if (isDown) {
      // Fewer threads are no faster: this is how long steps take now.
      this.#toWatch = 0;
      this.#debt = 0;
      this.#usual[own] = this.#typical(own);
    }
    this.#far = !this.#far;
    this.#trial = undefined;
  }

  #accept({ isDown, level, widthClass: own, meanTime, steps }: Trial): void {
    const pause = Math.max(soonSteps * meanTime * this.#stepWidth, this.#soonMs);
    if (isDown) this.#lowered(this.#debt);
    else this.#raised();
    this.#settle(level, pause);
    if (!isDown && this.#watched) this.#toWatch = stepsToWatch;
    this.#remember(own, meanTime);
    this.#usual[own] = meanTime;
    this.#steps[own] = steps;
  }

  #raised(): void {
    this.#up.failures = 0;
    this.#up.at = 0;
    this.#raisedAt = this.#clock;
  }

  #lowered(loss: number): void {
    if (this.#clock - this.#raisedAt < doubtMs) {
      // More threads were a mistake, and cost this much.
      this.#up.failures += 1;
      this.#up.at = this.#clock + waitAfter(loss, this.#up.failures);
    } else {
      // One slow step may have been chance.
      this.#up.failures = 0;
      this.#up.at = 0;
    }
  }

  /** Times with another number say nothing any more. */
  #settle(level: number, untilTrialMs: number): void {
    const nextTrialAt = this.#clock + untilTrialMs;
    this.#level = level;
    this.#trial = undefined;
    this.#far = false;
    this.#debt = 0;
    this.#down.failures = 0;
    this.#down.at = nextTrialAt;
    this.#up.at = Math.max(this.#up.at, nextTrialAt);
    this.#toWatch = 0;
    this.#wereSlow = false;
    this.#steps.fill(0);
    this.#recent.fill(0);
    this.#usual.fill(0);
  }
}

interface Direction {
  /** No trial before this time. */
  at: number;
  /** Trials in a row that were no faster. */
  failures: number;
}

/** Steps of a class before they are compared with others. */
const enoughSteps = 3;
/** After a pause of this time, the machine may be in another state. */
export const pauseMs = 2000;
/** Share of pauses in the clock. */
const pauseShare = 0.03;
/** Slower than usual, and the share of the debt that an undisturbed step leaves. */
const slow = 1.5;
const debtLeft = 0.9;
/** Share of the usual time below which something must have ended that took part of the processor. */
const relieved = 0.8;
/** When to try again in the same direction after a success, and in the other one: a trial that is watched costs little. */
const soonSteps = 8;
const soon = { watched: 100, unwatched: 250 };
/** The scheduler may let all threads share one core for a second, and then not for a few steps. */
const stepsToWatch = 12;
/** Before fewer threads are tried for the first time, where others are noticed without a trial. */
const calmMs = 2000;
/** A number that was raised is taken back as a failure within this time. */
const doubtMs = 300;

/** Trials cost less than 4 % of the time, and less than 2 % while the machine stays as it is. */
function waitAfter(loss: number, failures: number): number {
  const longest = failures > 2 ? Math.max(60_000, loss * 50) : Math.max(30_000, loss * 25);
  return Math.min(Math.max(1000, loss * 25 * 2 ** Math.min(failures, 12)), longest);
}

/** The numbers to choose from, upwards: each one, and from 16 on about an eighth less at a time. */
export function threadLevels(most: number): readonly number[] {
  const levels: number[] = [];
  for (let count = Math.max(1, most); count >= 1; count -= Math.max(1, Math.floor(count / 8))) levels.unshift(count);
  return levels;
}

const widthClasses = 64;

/** Widths that take about the same time per token: 1, 2, 3, 4, up to 6, 8, 12, 16, 24, … */
export function widthClass(width: number): number {
  if (width <= 2) return width;
  const octave = 31 - Math.clz32(width - 1);
  const half = width - 1 >= 3 * 2 ** (octave - 1) ? 1 : 0;
  return Math.min(1 + octave * 2 + half, widthClasses - 1);
}
