/** Interval of the watchdog's pulses, and of the server's checks. */
export const tickMs = 500;
/** A thread or process without a heartbeat for this long hangs. With the ticks, that is detected within 10 s. */
export const stillMs = 8000;
/** A thread that reads its memory from disk is slow and does not hang, up to this time. */
const maxPagingMs = 600_000;

export interface Pulse {
  readonly hung: boolean;
  /** How long the current step may take; 0 if there is none. */
  readonly timeoutMs: number;
}

/** Measures how long a value has not changed, in ticks: while the machine sleeps or the process group is stopped, no time passes. */
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

/** The heartbeats of one process, as the server sees them. */
export class Heartbeat {
  #pulses = 0;
  #last: Pulse = { hung: false, timeoutMs: 0 };
  readonly #silence = new Stillness();

  /** How long its current step may take. */
  get timeoutMs(): number {
    return this.#last.timeoutMs;
  }

  pulse(pulse: Pulse): void {
    this.#pulses += 1;
    this.#last = pulse;
  }

  /** Called every half second: whether it hangs. A process that never sent a pulse may not have a watchdog. */
  tick(): boolean {
    const silentMs = this.#silence.tick(this.#pulses);
    return this.#last.hung || (this.#pulses > 0 && silentMs > stillMs);
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

  /** `pageFaults` counts pages that were read from disk. */
  tick({ serving, beats, here, aside }: Signs, pageFaults: number): Pulse {
    this.#read(pageFaults, this.#turning.tick(`${beats} ${aside.serial}`) === 0);
    const still = this.#beats.tick(`${beats} ${this.#paged}`);
    const stillHere = this.#here.tick(`${here.serial} ${this.#paged}`);
    const stillAside = this.#aside.tick(`${aside.serial} ${this.#paged}`);
    const stuck = here.boundMs === 0 ? still > stillMs : stillHere > here.boundMs;
    const stuckAside = aside.boundMs > 0 && stillAside > aside.boundMs;
    return { hung: serving && (stuck || stuckAside), timeoutMs: Math.max(here.boundMs, aside.boundMs) };
  }

  /** A model larger than the memory reads pages all the time; an endless loop does not. */
  #read(pageFaults: number, turning: boolean): void {
    const grew = pageFaults > this.#pageFaults;
    this.#pageFaults = pageFaults;
    this.#pagingMs = turning ? 0 : this.#pagingMs + tickMs;
    if (grew && this.#pagingMs < maxPagingMs) this.#paged += 1;
  }
}

/** What the main thread of a worker reports to its watchdog, through shared memory. */
interface Signs {
  /** Loading may take any time, so nothing is checked before the worker serves. */
  readonly serving: boolean;
  /** Grows while the event loop of the main thread runs. */
  readonly beats: number;
  /** Blocking work on the main thread. */
  readonly here: Step;
  /** Work on another thread. */
  readonly aside: Step;
}

/** `boundMs` is 0 while there is none. */
type Step = Readonly<Record<'boundMs' | 'serial', number>>;

/** Declares long work, with the time that it may take, so that it is not taken for a hang. */
export interface Watch {
  here<Result>(boundMs: number, work: () => Result): Result;
  aside<Result>(boundMs: number, work: () => Promise<Result>): Promise<Result>;
  /** Starts the checks. When the server is gone, the worker has `closingMs` to end. */
  serving(closingMs: number): void;
}

const cell = {
  serving: 0,
  closingMs: 1,
  beats: 2,
  hereBound: 3,
  hereSerial: 4,
  asideBound: 5,
  asideSerial: 6,
  megabytes: 7,
};
const maxBoundMs = 2 ** 31 - 1;

/** Memory that the two threads share. */
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

  limitMemory(megabytes: number): void {
    Atomics.store(this.#cells, cell.megabytes, megabytes);
  }

  here<Result>(boundMs: number, work: () => Result): Result {
    const outer = this.#begin(cell.hereBound, cell.hereSerial, boundMs);
    try {
      return work();
    } finally {
      // The beat first: a reader that sees the end of the step must not see the silence during it.
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

  /** 0 is no limit. */
  get maxMegabytes(): number {
    return Atomics.load(this.#cells, cell.megabytes);
  }

  get closingMs(): number {
    return Atomics.load(this.#cells, cell.closingMs);
  }

  /** Background work may overlap. As long as some of it ends, all of it may take as long as the slowest. */
  #publishAsides(): void {
    const bounds = Array.from(this.#asides, ({ boundMs }) => boundMs);
    this.#begin(cell.asideBound, cell.asideSerial, Math.max(0, ...bounds));
  }

  /** Returns the previous bound. */
  #begin(bound: number, serial: number, boundMs: number): number {
    Atomics.add(this.#cells, serial, 1);
    return Atomics.exchange(this.#cells, bound, Math.min(maxBoundMs, Math.ceil(boundMs)));
  }

  #step(bound: number, serial: number): Step {
    return { boundMs: Atomics.load(this.#cells, bound), serial: Atomics.load(this.#cells, serial) };
  }
}
