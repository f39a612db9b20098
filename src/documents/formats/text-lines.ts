import type { Mark } from './sections.ts';

/** A text with Markdown for headings, lists and tables, and where they are. */
export interface StructuredText {
  readonly text: string;
  readonly marks: readonly Mark[];
}

interface Line {
  readonly text: string;
  /** Begins the line: `# `, `- `. */
  readonly mark: string;
  readonly kind: 'text' | 'code' | 'table';
}

/** Deeper tables are read as text. */
const maxTableDepth = 20;
/** A row with more characters is no row of a table but the layout of a page. */
const maxRowLength = 2000;

/** Collects lines of text with Markdown for headings, lists and tables. */
export class TextLines {
  readonly #lines: Line[] = [];
  #line: string[] = [];
  #mark = '';
  /** The cells of open rows, as lines. */
  readonly #rows: Line[][][] = [];
  #deeper = 0;
  #length = 0;
  /** Whether lines are code. */
  isCode = false;

  /** Characters so far. */
  get length(): number {
    return this.#length;
  }

  add(text: string): void {
    if (this.#line.length === 0 && text.trimStart() === '' && !(this.isCode && text !== '')) return;
    this.#line.push(text);
  }

  mark(mark: string): void {
    this.#mark = mark;
  }

  /** Ends a line; in a table cell it becomes a space. */
  end(): void {
    if (this.#line.length === 0) return;
    const text = this.#line.join('').trimEnd();
    this.#line = [];
    if (text === '') return;
    const line: Line = { text, mark: this.#mark, kind: this.isCode ? 'code' : 'text' };
    this.#mark = '';
    const cell = this.#rows.at(-1)?.at(-1);
    if (cell) cell.push(line);
    else this.#push(line);
  }

  /** An empty line, not twice in a row. */
  paragraph(): void {
    this.end();
    if (this.#rows.length === 0) this.#blank();
  }

  row(): void {
    this.end();
    if (this.#rows.length >= maxTableDepth) this.#deeper += 1;
    else this.#rows.push([]);
  }

  cell(): void {
    this.end();
    if (this.#deeper === 0) this.#rows.at(-1)?.push([]);
  }

  rowEnd(): void {
    this.end();
    if (this.#deeper > 0) {
      this.#deeper -= 1;
      return;
    }
    const cells = this.#rows.pop() ?? [];
    const lines = cells.flat();
    if (lines.length === 0) return;
    const outer = this.#rows.at(-1)?.at(-1);
    const length = lines.reduce((sum, { text }) => sum + text.length, 0);
    const isLayout = length > maxRowLength || cells.filter((cell) => cell.length > 0).length === 1;
    if (outer) outer.push(...(isLayout ? lines : [rowOf(cells)]));
    else if (isLayout && lines.length > 1) for (const line of lines) this.#push(line);
    else this.#push(rowOf(cells));
  }

  get result(): StructuredText {
    while (this.#deeper > 0) this.rowEnd();
    while (this.#rows.length > 0) this.rowEnd();
    this.end();
    while (this.#lines.at(-1)?.text === '') this.#lines.pop();
    const marks: Mark[] = [];
    let at = 0;
    let kind: Line['kind'] = 'text';
    const texts = this.#lines.map((line) => {
      if (line.kind !== kind && line.text !== '') {
        kind = line.kind;
        marks.push({ type: 'kind', at, kind });
      }
      const level = line.mark.indexOf(' ');
      if (line.mark.startsWith('#')) {
        marks.push({ type: 'heading', at, level, title: line.text });
        kind = 'text';
      }
      const text = line.mark + line.text;
      at += text.length + 1;
      return text;
    });
    return { text: texts.join('\n'), marks };
  }

  #push(line: Line): void {
    this.#lines.push(line);
    this.#length += line.text.length + 1;
  }

  #blank(): void {
    const last = this.#lines.at(-1);
    if (last && last.text !== '') this.#push({ text: '', mark: '', kind: last.kind });
  }
}

function rowOf(cells: readonly (readonly Line[])[]): Line {
  const text = cells.map((cell) => cell.map((line) => line.text.trim()).join(' ')).join(' | ');
  return { text, mark: '', kind: 'table' };
}
