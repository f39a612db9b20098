/** Collects lines of text with Markdown for headings, lists and tables. */
export class TextLines {
  readonly #lines: string[] = [];
  #line = '';
  /** Begins the next line: `# `, `- `. */
  #mark = '';
  #rows: string[][] = [];

  add(text: string): void {
    if (this.#line === '' && text.trimStart() === '') return;
    this.#line += text;
  }

  mark(mark: string): void {
    this.#mark = mark;
  }

  /** Ends a line; in a table cell it becomes a space. */
  end(): void {
    const line = this.#line.trimEnd();
    this.#line = '';
    if (line === '') return;
    const cells = this.#rows.at(-1);
    if (cells && cells.length > 0) {
      const last = cells.length - 1;
      cells[last] = `${cells[last]} ${line.trim()}`.trim();
      return;
    }
    this.#lines.push(this.#mark + line);
    this.#mark = '';
  }

  /** An empty line, not twice in a row. */
  paragraph(): void {
    this.end();
    if (this.#rows.length === 0 && this.#lines.length > 0 && this.#lines.at(-1) !== '') this.#lines.push('');
  }

  row(): void {
    this.end();
    this.#rows.push([]);
  }

  cell(): void {
    this.end();
    this.#rows.at(-1)?.push('');
  }

  rowEnd(): void {
    this.end();
    const cells = this.#rows.pop() ?? [];
    const line = cells.join(' | ');
    if (cells.every((cell) => cell === '')) return;
    if (this.#rows.length > 0) this.add(`${line} `);
    else this.#lines.push(line);
  }

  get text(): string {
    while (this.#rows.length > 0) this.rowEnd();
    this.end();
    return this.#lines.join('\n').trim();
  }
}
