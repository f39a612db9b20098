/** Keeps the last lines of an endless text. */
export class LineRing {
  readonly #lines: string[] = [];
  #open = '';

  constructor(
    private readonly size: number,
    private readonly onLine: (line: string) => void = () => {},
  ) {}

  push(text: string): void {
    const parts = (this.#open + text).split('\n');
    this.#open = (parts.pop() ?? '').slice(-4096);
    for (const line of parts) {
      this.#lines.push(line);
      this.onLine(line);
    }
    if (this.#lines.length > this.size) this.#lines.splice(0, this.#lines.length - this.size);
  }

  last(): readonly string[] {
    return this.#open === '' ? [...this.#lines] : [...this.#lines, this.#open];
  }
}
