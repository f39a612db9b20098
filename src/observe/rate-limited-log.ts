export interface RateLimitOptions {
  readonly log: (line: string) => void;
  readonly startTimer?: (milliseconds: number, action: () => void) => void;
  /** Lines of one kind per minute. */
  readonly lines?: number;
}

const spanMs = 60_000;

/** Does not keep the program running. */
const backgroundTimer = (milliseconds: number, action: () => void): void =>
  void setTimeout(action, milliseconds).unref();

/** Rate limit for log lines that clients can cause: the first few of each kind per minute are written, the rest counted. */
export class RateLimitedLog {
  readonly #counts = new Map<string, number>();

  constructor(private readonly options: RateLimitOptions) {}

  /** The number of kinds must be small. */
  log(kind: string, line: string): void {
    const { log, startTimer = backgroundTimer, lines = 5 } = this.options;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (count === 1) startTimer(spanMs, () => this.#over(kind, lines));
    if (count <= lines) log(line);
  }

  #over(kind: string, lines: number): void {
    const more = (this.#counts.get(kind) ?? 0) - lines;
    this.#counts.delete(kind);
    if (more > 0) this.options.log(`… ${more} more like this in the last minute (${kind})`);
  }
}
