const mostLines = 20;
const longestLine = 500;

/** The last lines that a program wrote to its error output: what people need when it does not start. */
export class LastLines {
  readonly #lines: string[] = [];
  #rest = '';

  add(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = (lines.pop() ?? '').slice(-longestLine);
    for (const line of lines) {
      const shown = line.trim();
      if (shown !== '') this.#lines.push(shown.slice(0, longestLine));
    }
    this.#lines.splice(0, this.#lines.length - mostLines);
  }

  /** In one line, the newest at the end; empty where nothing was written. */
  get text(): string {
    const rest = this.#rest.trim();
    return [...this.#lines, ...(rest === '' ? [] : [rest])].slice(-mostLines).join(' | ');
  }
}
