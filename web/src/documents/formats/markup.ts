/** Tags and texts of XML or HTML, in order. Names are in lower case. */
export type Piece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'open'; readonly name: string; readonly inside: string; readonly closed: boolean }
  | { readonly type: 'close'; readonly name: string };

/** A quote may hide the end of a tag at most this far. */
const longestTag = 20_000;

/** Pieces in linear time, whatever the text is. Comments and declarations are left out. */
export function* piecesOf(markup: string): Generator<Piece> {
  let at = 0;
  while (at < markup.length) {
    const open = markup.indexOf('<', at);
    if (open === -1) {
      yield { type: 'text', text: decoded(markup.slice(at)) };
      return;
    }
    const follows = markup[open + 1] ?? '';
    if (!/[A-Za-z/!?]/.test(follows)) {
      yield { type: 'text', text: decoded(markup.slice(at, open + 1)) };
      at = open + 1;
      continue;
    }
    if (open > at) yield { type: 'text', text: decoded(markup.slice(at, open)) };
    if (markup.startsWith('<![CDATA[', open)) {
      const end = endOf(markup, ']]>', open + 9);
      yield { type: 'text', text: markup.slice(open + 9, end - 3) };
      at = end;
      continue;
    }
    if (follows === '!' || follows === '?') {
      at = markup.startsWith('<!--', open) ? endOf(markup, '-->', open + 4) : endOf(markup, '>', open);
      continue;
    }
    const end = tagEnd(markup, open);
    const tag = markup.slice(open + 1, end - 1);
    const [, slash = '', name = ''] = /^(\/?)([^\s/>]+)/.exec(tag) ?? [];
    at = end;
    if (name === '') continue;
    const lower = name.toLowerCase();
    if (slash === '/') yield { type: 'close', name: lower };
    else yield { type: 'open', name: lower, inside: tag.slice(name.length), closed: tag.endsWith('/') };
  }
}

/** After the next `mark`, or the end. */
function endOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found === -1 ? text.length : found + mark.length;
}

/** After the `>` that is in no quotes. */
function tagEnd(markup: string, open: number): number {
  const limit = Math.min(markup.length, open + longestTag);
  let quote = '';
  for (let at = open + 1; at < limit; at += 1) {
    const character = markup[at] ?? '';
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '>') return at + 1;
    else if (character === '"' || character === "'") quote = character;
  }
  return endOf(markup, '>', open);
}

/** The value of an attribute; undefined without it. */
export function attributeOf(inside: string, name: string): string | undefined {
  for (const [, key = '', double, single, bare] of inside.matchAll(
    /([^\s=/"']+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g,
  ))
    if (key.toLowerCase() === name) return decoded(double ?? single ?? bare ?? '');
  return undefined;
}

const named: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', copy: '©', reg: '®', trade: '™', deg: '°' },
  ...{ ndash: '–', mdash: '—', hellip: '…', bull: '•', middot: '·', shy: '', laquo: '«', raquo: '»', times: '×' },
  ...{ lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”', sbquo: '‚', bdquo: '„', euro: '€', pound: '£', sect: '§' },
  ...{ auml: 'ä', ouml: 'ö', uuml: 'ü', Auml: 'Ä', Ouml: 'Ö', Uuml: 'Ü', szlig: 'ß', eacute: 'é', egrave: 'è' },
  ...{ agrave: 'à', aacute: 'á', ccedil: 'ç', ntilde: 'ñ', ecirc: 'ê', oacute: 'ó', iacute: 'í', uacute: 'ú' },
};

export function decoded(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi, (whole, decimal, hex, name: string) => {
    if (name !== undefined) return named[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '';
  });
}

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
