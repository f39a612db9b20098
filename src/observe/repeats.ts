export interface RepeatsOptions {
  readonly say: (line: string) => void;
  /** Calls back after so many milliseconds. */
  readonly later: (milliseconds: number, action: () => void) => void;
  /** How many lines of one kind are written in one span. */
  readonly lines?: number;
}

const spanMs = 60_000;

/**
 * Lines that somebody else can cause at will: the first few of each kind are written, and the others are counted and told
 * when the minute is over. However many there are, the log grows by a few lines a minute.
 */
export class Repeats {
  readonly #counts = new Map<string, number>();

  constructor(private readonly options: RepeatsOptions) {}

  /** There must be few kinds: each may write. */
  tell(kind: string, line: string): void {
    const { say, later, lines = 5 } = this.options;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (count === 1) later(spanMs, () => this.#over(kind, lines));
    if (count <= lines) say(line);
  }

  #over(kind: string, lines: number): void {
    const more = (this.#counts.get(kind) ?? 0) - lines;
    this.#counts.delete(kind);
    if (more > 0) this.options.say(`… ${more} more like this in the last minute (${kind})`);
  }
}
