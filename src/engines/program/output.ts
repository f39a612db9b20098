/** The last lines, for the model panel. */
const maxLines = 200;
/** Lines on the console: this many at once, and then this many per second. */
const burst = 40;
const linesPerSecond = 4;

interface OutputDeps {
  readonly log: (line: string) => void;
  /** Monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** What a program prints: bounded on the console, and the last lines as they are. */
export class ProgramOutput {
  readonly #lines: string[] = [];
  #tokens = burst;
  #filledAt: number;
  #hidden = 0;

  constructor(private readonly deps: OutputDeps) {
    this.#filledAt = deps.now();
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  add(line: string): void {
    if (line.trim() === '') return;
    this.#lines.push(line);
    if (this.#lines.length > maxLines) this.#lines.shift();
    const now = this.deps.now();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) / 1000) * linesPerSecond);
    this.#filledAt = now;
    if (this.#tokens < 1) {
      this.#hidden += 1;
      return;
    }
    this.#tokens -= 1;
    if (this.#hidden > 0) this.deps.log(`… ${this.#hidden} lines are not shown`);
    this.#hidden = 0;
    this.deps.log(line);
  }
}
