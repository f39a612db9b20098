import type { Signs } from './vital-signs.ts';

/** How often the watchdog looks and gives a sign, and how often the server looks for one. */
export const tickMs = 500;
/** A thread or a process that has given no sign for this long hangs; with the ticks that is noticed within 10 s. */
export const stillMs = 8000;
/** Somebody whose memory comes back from the disk is slow and not stuck, but not for ever. */
const longestPagingMs = 600_000;

export interface Pulse {
  readonly hung: boolean;
  /** How long the step that is being done may take; 0 while there is none. */
  readonly patienceMs: number;
}

/**
 * Counts how long something stands still, in ticks that really came. Whoever was stopped together with what it watches (a
 * closed lid, a stopped process group) finds one tick passed when it wakes, and not an hour.
 */
export class Stillness {
  #last: unknown;
  #ticks = 0;

  /** Milliseconds since `sign` changed. */
  tick(sign: unknown): number {
    this.#ticks = sign === this.#last ? this.#ticks + 1 : 0;
    this.#last = sign;
    return this.#ticks * tickMs;
  }
}

/** Whether the main thread of a worker hangs. */
export class StallJudge {
  readonly #beats = new Stillness();
  readonly #here = new Stillness();
  readonly #aside = new Stillness();
  readonly #turning = new Stillness();
  #pageFaults = 0;
  #paged = 0;
  #pagingMs = 0;

  /** `pageFaults` counts the pages that had to be read from the disk. */
  tick({ serving, beats, here, aside }: Signs, pageFaults: number): Pulse {
    this.#read(pageFaults, this.#turning.tick(`${beats} ${aside.serial}`) === 0);
    const still = this.#beats.tick(`${beats} ${this.#paged}`);
    const stillHere = this.#here.tick(`${here.serial} ${this.#paged}`);
    const stillAside = this.#aside.tick(`${aside.serial} ${this.#paged}`);
    const stuck = here.boundMs === 0 ? still > stillMs : stillHere > here.boundMs;
    const stuckAside = aside.boundMs > 0 && stillAside > aside.boundMs;
    return { hung: serving && (stuck || stuckAside), patienceMs: Math.max(here.boundMs, aside.boundMs) };
  }

  /** An endless loop reads nothing from the disk; a model that is larger than the memory does so all the time. */
  #read(pageFaults: number, turning: boolean): void {
    const grew = pageFaults > this.#pageFaults;
    this.#pageFaults = pageFaults;
    this.#pagingMs = turning ? 0 : this.#pagingMs + tickMs;
    if (grew && this.#pagingMs < longestPagingMs) this.#paged += 1;
  }
}
