export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogLine {
  /** From 1 on, without gaps. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly level: LogLevel;
  readonly text: string;
}

const tailLimits = {
  lines: 500,
  /** Of all lines together. */
  characters: 200_000,
  /** Longer lines are cut. */
  lineCharacters: 4000,
};

/** The last lines of the console, in memory. */
export class LogTail {
  #lines: LogLine[] = [];
  #characters = 0;
  #number = 0;

  constructor(
    private readonly now: () => number,
    private readonly limits = tailLimits,
  ) {}

  add(text: string, level: LogLevel = 'info'): void {
    // Empty lines only separate.
    if (text === '') return;
    const { lineCharacters, lines, characters } = this.limits;
    const cut = text.length > lineCharacters ? `${text.slice(0, lineCharacters)} …` : text;
    this.#number += 1;
    this.#lines.push({ number: this.#number, time: this.now(), level, text: cut });
    this.#characters += cut.length;
    while (this.#lines.length > lines || (this.#characters > characters && this.#lines.length > 1)) {
      this.#characters -= this.#lines.shift()?.text.length ?? 0;
    }
  }

  /** Those with a higher number; all after a number that was never used, which is one of an earlier process. */
  after(number: number): readonly LogLine[] {
    return number > this.#number ? this.#lines : this.#lines.filter((line) => line.number > number);
  }
}
