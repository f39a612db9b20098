import { decodeAs } from './encoding.ts';

/** Groups that hold no text of the document. */
const silent = new Set(
  'fonttbl colortbl stylesheet info pict object header footer headerl headerr footerl footerr listtable listoverridetable themedata datastore generator fldinst'.split(
    ' ',
  ),
);
const characters: Readonly<Record<string, string>> = {
  par: '\n',
  line: '\n',
  row: '\n',
  sect: '\n\n',
  page: '\n\n',
  tab: '\t',
  cell: ' | ',
  emdash: '—',
  endash: '–',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
  bullet: '•',
};

interface Group {
  readonly isSilent: boolean;
  /** Characters after `\u` that are a replacement for old readers. */
  readonly skip: number;
}

/** The text of a Rich Text file. Yields now and then, so that a caller can let the page draw. */
export function* rtfText(rtf: string): Generator<void, string> {
  const parts: string[] = [];
  const groups: Group[] = [];
  let group: Group = { isSilent: false, skip: 1 };
  const page = codePage(rtf);
  let toSkip = 0;
  let count = 0;
  const emit = (text: string): void => {
    if (toSkip > 0) toSkip -= 1;
    else if (!group.isSilent) parts.push(text);
  };
  for (const [whole, word, number, hex, symbol, plain] of rtf.matchAll(
    /\\([a-z]+)(-?\d+)? ?|\\'([\da-f]{2})|\\([^a-z\d])|([^\\{}\r\n])|[{}]/gi,
  )) {
    count += 1;
    if (count % 2000 === 0) yield;
    if (whole === '{') {
      groups.push(group);
    } else if (whole === '}') {
      group = groups.pop() ?? group;
      toSkip = 0;
    } else if (hex !== undefined) emit(page[Number.parseInt(hex, 16)] ?? '');
    else if (plain !== undefined) emit(plain);
    else if (symbol === '*') group = { ...group, isSilent: true };
    else if (symbol !== undefined) emit(symbol === '~' ? ' ' : /[\\{}]/.test(symbol) ? symbol : '');
    else if (word === 'u') {
      emit(String.fromCharCode(Number(number) & 0xffff));
      toSkip = group.skip;
    } else if (word === 'uc') group = { ...group, skip: Number(number) };
    else if (word !== undefined && silent.has(word)) group = { ...group, isSilent: true };
    else if (word !== undefined && characters[word] !== undefined) emit(characters[word] ?? '');
  }
  return parts
    .join('')
    .split('\n')
    .map(withoutEmptyCells)
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** The characters of bytes in the code page that the file names. */
function codePage(rtf: string): readonly string[] {
  const page = /\\ansicpg(125\d|874)\b/.exec(rtf.slice(0, 2000))?.[1] ?? '1252';
  return Array.from({ length: 256 }, (_, code) => decodeAs(`windows-${page}`, Uint8Array.of(code)));
}

function withoutEmptyCells(line: string): string {
  let end = line.length;
  while (end > 0 && ' \t|'.includes(line[end - 1] ?? '')) end -= 1;
  return line.slice(0, end);
}
