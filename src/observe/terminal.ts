/** Where lines for people go. */
export interface Output {
  readonly interactive: boolean;
  readonly columns: number;
  write(text: string): void;
}

const keptLines = 10;

/**
 * Lines, and one status line under them that changes in place on a terminal. In a log file nothing moves: a status is
 * not written there at all, and whoever reports progress says the milestones as lines.
 */
export class Terminal {
  #status = '';
  #latest: readonly string[] = [];

  constructor(private readonly output: Output) {}

  get interactive(): boolean {
    return this.output.interactive;
  }

  line(text = ''): void {
    this.#erase();
    this.output.write(`${text}\n`);
    this.#latest = [...this.#latest.slice(1 - keptLines), text];
  }

  /** Whether one of the latest lines ended so: what has been said need not be said again. */
  hasSaid(ending: string): boolean {
    return this.#latest.some((line) => line.endsWith(ending));
  }

  /** Replaces the status line. */
  status(text: string): void {
    if (!this.output.interactive) return;
    const fitting = text.slice(0, Math.max(10, this.output.columns - 1));
    const padding = ' '.repeat(Math.max(0, this.#status.length - fitting.length));
    this.output.write(`\r${fitting}${padding}`);
    this.#status = fitting;
  }

  /** Leaves the status line standing as it is and goes on below it. */
  keepStatus(): void {
    if (this.#status !== '') this.output.write('\n');
    this.#status = '';
  }

  #erase(): void {
    if (this.#status !== '') this.output.write(`\r${' '.repeat(this.#status.length)}\r`);
    this.#status = '';
  }
}

export function progressBar(fraction: number, width = 30): string {
  const filled = Math.round(Math.max(0, Math.min(1, fraction)) * width);
  return `[${'█'.repeat(filled)}${'░'.repeat(width - filled)}] ${Math.floor(fraction * 100)}%`;
}
