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
export class StallDetector {
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

/** What the main thread of a worker tells its watchdog. Written by one thread and read by the other, so: atomically. */
interface Signs {
  /** Nothing is judged before the worker serves: loading may take as long as it takes. */
  readonly serving: boolean;
  /** Grows each time round the event loop of the main thread, or nearly. */
  readonly beats: number;
  /** Work in which the main thread cannot give a sign, with the time that it may take. */
  readonly here: Step;
  /** Work on another thread, beside which the main thread goes on. */
  readonly aside: Step;
}

interface Step {
  /** 0 while there is none. */
  readonly boundMs: number;
  readonly serial: number;
}

/** How a worker says what it is at, so that long work is not taken for a hang. */
export interface Watch {
  here<Result>(boundMs: number, work: () => Result): Result;
  aside<Result>(boundMs: number, work: () => Promise<Result>): Promise<Result>;
  /** From now on it is watched; once the server is gone it may go on for this long. */
  serving(closingMs: number): void;
}

const cell = { serving: 0, closingMs: 1, beats: 2, hereBound: 3, hereSerial: 4, asideBound: 5, asideSerial: 6 };
const longestMs = 2 ** 31 - 1;

/** The memory that both threads share. */
export class HeartbeatMemory implements Watch {
  readonly #cells: Int32Array;
  readonly #asides = new Set<{ readonly boundMs: number }>();

  constructor(readonly memory = new SharedArrayBuffer(Object.keys(cell).length * Int32Array.BYTES_PER_ELEMENT)) {
    this.#cells = new Int32Array(memory);
  }

  beat(): void {
    Atomics.add(this.#cells, cell.beats, 1);
  }

  serving(closingMs: number): void {
    this.beat();
    Atomics.store(this.#cells, cell.closingMs, closingMs);
    Atomics.store(this.#cells, cell.serving, 1);
  }

  here<Result>(boundMs: number, work: () => Result): Result {
    const outer = this.#begin(cell.hereBound, cell.hereSerial, boundMs);
    try {
      return work();
    } finally {
      // First the beat: whoever sees that the step is over must not see the silence that it had.
      this.beat();
      this.#begin(cell.hereBound, cell.hereSerial, outer);
    }
  }

  async aside<Result>(boundMs: number, work: () => Promise<Result>): Promise<Result> {
    const own = { boundMs };
    this.#asides.add(own);
    this.#publishAsides();
    try {
      return await work();
    } finally {
      this.#asides.delete(own);
      this.#publishAsides();
    }
  }

  /** Bounds are read before the beats, as they are written after them. */
  read(): Signs {
    const serving = Atomics.load(this.#cells, cell.serving) === 1;
    const here = this.#step(cell.hereBound, cell.hereSerial);
    const aside = this.#step(cell.asideBound, cell.asideSerial);
    return { serving, here, aside, beats: Atomics.load(this.#cells, cell.beats) };
  }

  get closingMs(): number {
    return Atomics.load(this.#cells, cell.closingMs);
  }

  /** Such work may overlap: as long as any of it ends now and then, all of it may take as long as the slowest. */
  #publishAsides(): void {
    const bounds = Array.from(this.#asides, ({ boundMs }) => boundMs);
    this.#begin(cell.asideBound, cell.asideSerial, Math.max(0, ...bounds));
  }

  /** Gives the bound that held until now. */
  #begin(bound: number, serial: number, boundMs: number): number {
    Atomics.add(this.#cells, serial, 1);
    return Atomics.exchange(this.#cells, bound, Math.min(longestMs, Math.ceil(boundMs)));
  }

  #step(bound: number, serial: number): Step {
    return { boundMs: Atomics.load(this.#cells, bound), serial: Atomics.load(this.#cells, serial) };
  }
}
